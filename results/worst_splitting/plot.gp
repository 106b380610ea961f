# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in x and y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0 0
0.3010299957 0.4605986018
0.4771212547 0.7505385723
0.6020599913 0.9578977094
0.6989700043 1.121864088
EOD
$line0 << EOD
0 0
0.3010299957 0.4605986018
0.4771212547 0.7505385723
0.6020599913 0.9578977094
0.6989700043 1.121864088
EOD
$point1 << EOD
0 0
0.3010299957 0.4609371151
0.4771212547 0.750216193
0.6020599913 0.9533380189
0.6989700043 1.119727592
EOD
$line1 << EOD
0 0
0.3010299957 0.4609371151
0.4771212547 0.750216193
0.6020599913 0.9533380189
0.6989700043 1.119727592
EOD
$point2 << EOD
0 4.616710664e-08
0.3010299957 0.4605399506
0.4771212547 0.7503923224
0.6020599913 0.9577854323
0.6989700043 1.121749431
EOD
$line2 << EOD
0 4.616710664e-08
0.3010299957 0.4605399506
0.4771212547 0.7503923224
0.6020599913 0.9577854323
0.6989700043 1.121749431
EOD
$point3 << EOD
0 7.691861604e-12
0.3010299957 0.4608764819
0.4771212547 0.7502137042
0.6020599913 0.9529080397
0.6989700043 1.119702916
EOD
$line3 << EOD
0 7.691861604e-12
0.3010299957 0.4608764819
0.4771212547 0.7502137042
0.6020599913 0.9529080397
0.6989700043 1.119702916
EOD
set title 'The measure at which splitting gains most: three atoms in [-R, R]' . "\n" . 'A = 1 and A = -1: best attack within W_2 <= 1e-5 over' . "\n" . 'the best one with atoms whole, and the same of slopes' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical maxcols 1 width -3 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'radius R of the ball of tokens' noenhanced
set ylabel 'gain by splitting' noenhanced
set xrange [-0.02795880017:0.7269288045]
set yrange [-0.04487456354:1.166738652]
set xtics ('1' 0, '2' 0.3010299957, '3' 0.4771212547, '4' 0.6020599913, '5' 0.6989700043)
set ytics ('1' 0, '2' 0.3010299957, '' 0.4771212547 1, '' 0.6020599913 1, '5' 0.6989700043, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line3 using 1:2 with lines lw 1.2 dt '-' lc rgb '#D55E00' notitle, \
  $point3 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'best attacks, A = minus-identity', \
  $line2 using 1:2 with lines lw 1.2 dt '-' lc rgb '#0072B2' notitle, \
  $point2 using 1:2 with points pt 5 ps 0.9 lc rgb '#0072B2' title 'best attacks, A = identity', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 7 ps 0.9 lc rgb '#D55E00' title 'slopes, A = minus-identity', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'slopes, A = identity'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
