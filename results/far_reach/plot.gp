# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
2 0.4259680256
3 0.4259684148
4 0.4259684147
5 0.4259684148
6 0.4259684147
7 0.8769872205
8 1.660872162
9 2.437560155
10 2.98340059
11 3.565532414
12 3.733677129
EOD
$line0 << EOD
2 0.4259680256
3 0.4259684148
4 0.4259684147
5 0.4259684148
6 0.4259684147
7 0.8769872205
8 1.660872162
9 2.437560155
10 2.98340059
11 3.565532414
12 3.733677129
EOD
$point1 << EOD
2 0.3742916232
3 0.3798562267
4 0.3798562267
5 0.3798562268
6 0.3798562267
7 0.3798562268
8 0.3798562267
9 0.3798562267
10 0.3798562267
11 0.3798562267
12 0.3798562267
EOD
$line1 << EOD
2 0.3742916232
3 0.3798562267
4 0.3798562267
5 0.3798562268
6 0.3798562267
7 0.3798562268
8 0.3798562267
9 0.3798562267
10 0.3798562267
11 0.3798562267
12 0.3798562267
EOD
$point2 << EOD
2 0.4259687323
3 0.4259687323
4 0.4259687323
5 0.4259687323
6 0.4259687323
7 0.4259687323
8 0.4259687323
9 0.4259687323
10 0.4259687323
11 0.4259687323
12 0.4259687323
EOD
$line2 << EOD
2 0.4259687323
3 0.4259687323
4 0.4259687323
5 0.4259687323
6 0.4259687323
7 0.4259687323
8 0.4259687323
9 0.4259687323
10 0.4259687323
11 0.4259687323
12 0.4259687323
EOD
$point3 << EOD
2 0.4259687323
3 0.4259687323
4 0.4259687323
5 0.4259687323
6 0.4259687323
7 0.4259687323
8 0.4259687323
9 0.4259687323
10 0.4259687323
11 0.4259687323
12 0.4259687323
EOD
$line3 << EOD
2 0.4259687323
3 0.4259687323
4 0.4259687323
5 0.4259687323
6 0.4259687323
7 0.4259687323
8 0.4259687323
9 0.4259687323
10 0.4259687323
11 0.4259687323
12 0.4259687323
EOD
set title 'A finite attack on three atoms -2, 0, 2 beats the slope once a tiny mass may go far' . "\n" . 'A = -1, W_2(mu, nu) <= 1e-3, tokens within R:' . "\n" . 'a share of 1e-6/R^2 at R has logits up to 2 R' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical maxcols 1 width -2 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'radius R of the ball of tokens' noenhanced
set ylabel 'output movement over input movement' noenhanced
set xrange [1.6:12.4]
set yrange [0.239916203:3.868052549]
set xtics ('2' 2, '3' 3, '4' 4, '5' 5, '6' 6, '7' 7, '8' 8, '9' 9, '10' 10, '11' 11, '12' 12)
set ytics ('' 0.3010299957 1, '' 0.4771212547 1, '' 0.6020599913 1, '' 0.6989700043 1, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1, '' 1.301029996 1, '' 1.477121255 1, '' 1.602059991 1, '' 1.698970004 1, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '100' 2, '' 2.301029996 1, '' 2.477121255 1, '' 2.602059991 1, '' 2.698970004 1, '' 2.77815125 1, '' 2.84509804 1, '' 2.903089987 1, '' 2.954242509 1, '1000' 3, '' 3.301029996 1, '' 3.477121255 1, '' 3.602059991 1, '' 3.698970004 1, '' 3.77815125 1, '' 3.84509804 1)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line3 using 1:2 with lines lw 1.2 dt solid lc rgb '#CC79A7' notitle, \
  $point3 using 1:2 with points pt 13 ps 0.9 lc rgb '#CC79A7' title 'slope near the measure', \
  $line2 using 1:2 with lines lw 1.2 dt solid lc rgb '#009E73' notitle, \
  $point2 using 1:2 with points pt 9 ps 0.9 lc rgb '#009E73' title 'slope at the measure', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'best attack, atoms whole', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'best attack found'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
