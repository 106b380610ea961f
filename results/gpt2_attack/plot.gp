# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in x and y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0.6020599913 1.356439111
1.204119983 1.590912875
1.806179974 1.974417196
EOD
$line0 << EOD
0.6020599913 1.356439111
1.204119983 1.590912875
1.806179974 1.974417196
EOD
$point1 << EOD
0.6020599913 1.434661052
1.204119983 1.767694774
1.806179974 1.964755457
EOD
$line1 << EOD
0.6020599913 1.434661052
1.204119983 1.767694774
1.806179974 1.964755457
EOD
$point2 << EOD
0.6020599913 0.1538934699
1.204119983 0.4548820557
1.806179974 0.7557465112
EOD
$line2 << EOD
0.6020599913 0.1538934699
1.204119983 0.4548820557
1.806179974 0.7557465112
EOD
$point3 << EOD
0.6020599913 0.1494056855
1.204119983 0.4504355024
1.806179974 0.7514647828
EOD
$line3 << EOD
0.6020599913 0.1494056855
1.204119983 0.4504355024
1.806179974 0.7514647828
EOD
$point4 << EOD
0.6020599913 1.793909392
1.204119983 2.003691973
1.806179974 2.258338433
EOD
$line4 << EOD
0.6020599913 1.793909392
1.204119983 2.003691973
1.806179974 2.258338433
EOD
$point5 << EOD
0.6020599913 1.792892382
1.204119983 2.002660098
1.806179974 2.257298871
EOD
$line5 << EOD
0.6020599913 1.792892382
1.204119983 2.002660098
1.806179974 2.257298871
EOD
set title 'One head of GPT-2 at initialisation: search, adversarial tokens, best bound' . "\n" . 'Head 0 of layers 0 and 6, causal, n tokens in the ball |x| <= sqrt(768)' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside center bottom vertical maxcols 1 height 1 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'sequence length n (tokens)' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [0.553895192:1.854344773]
set yrange [0.06504837562:2.342695742]
set xtics ('4' 0.6020599913, '16' 1.204119983, '64' 1.806179974)
set ytics ('2' 0.3010299957, '' 0.4771212547 1, '' 0.6020599913 1, '5' 0.6989700043, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1, '20' 1.301029996, '' 1.477121255 1, '' 1.602059991 1, '50' 1.698970004, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '100' 2, '200' 2.301029996)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line5 using 1:2 with lines lw 1.2 dt '-.' lc rgb '#D55E00' notitle, \
  $point5 using 1:2 with points pt 9 ps 0.9 lc rgb '#D55E00' title 'best proven bound, layer = 6', \
  $line4 using 1:2 with lines lw 1.2 dt '-.' lc rgb '#0072B2' notitle, \
  $point4 using 1:2 with points pt 9 ps 0.9 lc rgb '#0072B2' title 'best proven bound, layer = 0', \
  $line3 using 1:2 with lines lw 1.2 dt '-' lc rgb '#D55E00' notitle, \
  $point3 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'at the given tokens, certified, layer = 6', \
  $line2 using 1:2 with lines lw 1.2 dt '-' lc rgb '#0072B2' notitle, \
  $point2 using 1:2 with points pt 5 ps 0.9 lc rgb '#0072B2' title 'at the given tokens, certified, layer = 0', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 7 ps 0.9 lc rgb '#D55E00' title 'best input found, certified, layer = 6', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'best input found, certified, layer = 0'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
