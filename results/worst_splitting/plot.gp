# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in x and y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0 0
0.3010299957 0.4325434269
0.4771212547 0.7463470676
0.6020599913 0.9587579008
0.6989700043 1.11213274
EOD
$line0 << EOD
0 0
0.3010299957 0.4325434269
0.4771212547 0.7463470676
0.6020599913 0.9587579008
0.6989700043 1.11213274
EOD
$point1 << EOD
0 0
0.3010299957 0.4613592485
0.4771212547 0.7492148148
0.6020599913 0.9484969573
0.6989700043 0.8073323773
EOD
$line1 << EOD
0 0
0.3010299957 0.4613592485
0.4771212547 0.7492148148
0.6020599913 0.9484969573
0.6989700043 0.8073323773
EOD
$point2 << EOD
0 0
0.3010299957 0.3978984332
0.4771212547 0.5312847223
0.6020599913 9.34943603e-05
0.6989700043 0.3070955966
EOD
$line2 << EOD
0 0
0.3010299957 0.3978984332
0.4771212547 0.5312847223
0.6020599913 9.34943603e-05
0.6989700043 0.3070955966
EOD
$point3 << EOD
0 6.295322567e-12
0.3010299957 0.1445734493
0.4771212547 0.248067648
0.6020599913 0.2389247819
0.6989700043 4.659763474
EOD
$line3 << EOD
0 6.295322567e-12
0.3010299957 0.1445734493
0.4771212547 0.248067648
0.6020599913 0.2389247819
0.6989700043 4.659763474
EOD
set title 'The measure at which splitting gains most: three atoms in [-R, R]' . "\n" . 'A = 1 and A = -1: best attack within W_2 <= 1e-4 over the best one with atoms whole, and' . "\n" . 'the same of slopes' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'radius R of the ball of tokens' noenhanced
set ylabel 'gain by splitting' noenhanced
set xrange [-0.02795880017:0.7269288045]
set yrange [-0.186390539:4.846154013]
set xtics ('1' 0, '2' 0.3010299957, '3' 0.4771212547, '4' 0.6020599913, '5' 0.6989700043)
set ytics ('' -0.15490196 1, '' -0.09691001301 1, '' -0.04575749056 1, '1' 0, '' 0.3010299957 1, '' 0.4771212547 1, '' 0.6020599913 1, '' 0.6989700043 1, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1, '' 1.301029996 1, '' 1.477121255 1, '' 1.602059991 1, '' 1.698970004 1, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '10^{2}' 2, '' 2.301029996 1, '' 2.477121255 1, '' 2.602059991 1, '' 2.698970004 1, '' 2.77815125 1, '' 2.84509804 1, '' 2.903089987 1, '' 2.954242509 1, '10^{3}' 3, '' 3.301029996 1, '' 3.477121255 1, '' 3.602059991 1, '' 3.698970004 1, '' 3.77815125 1, '' 3.84509804 1, '' 3.903089987 1, '' 3.954242509 1, '10^{4}' 4, '' 4.301029996 1, '' 4.477121255 1, '' 4.602059991 1, '' 4.698970004 1, '' 4.77815125 1, '' 4.84509804 1)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line3 using 1:2 with lines lw 1.2 lc rgb '#CC79A7' notitle, \
  $point3 using 1:2 with points pt 13 ps 0.9 lc rgb '#CC79A7' title 'best attacks, A = minus-identity', \
  $line2 using 1:2 with lines lw 1.2 lc rgb '#D55E00' notitle, \
  $point2 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'best attacks, A = identity', \
  $line1 using 1:2 with lines lw 1.2 lc rgb '#009E73' notitle, \
  $point1 using 1:2 with points pt 9 ps 0.9 lc rgb '#009E73' title 'slopes, A = minus-identity', \
  $line0 using 1:2 with lines lw 1.2 lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'slopes, A = identity'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
