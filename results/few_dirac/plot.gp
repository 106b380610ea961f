# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
2 0.3104128916
3 0.3104128916
4 0.3104128916
5 0.3104128916
6 0.3104128916
EOD
$line0 << EOD
2 0.3104128916
3 0.3104128916
4 0.3104128916
5 0.3104128916
6 0.3104128916
EOD
$point1 << EOD
2 0.8136131914
3 0.8136131914
4 0.8136131914
5 0.8136131914
6 0.8136131914
EOD
$line1 << EOD
2 0.8136131914
3 0.8136131914
4 0.8136131914
5 0.8136131914
6 0.8136131914
EOD
$point2 << EOD
2 1.146271628
3 1.146271628
4 1.146271628
5 1.146271628
6 1.146271628
EOD
$line2 << EOD
2 1.146271628
3 1.146271628
4 1.146271628
5 1.146271628
6 1.146271628
EOD
$point3 << EOD
2 1.389212244
3 1.400831412
4 1.400831412
5 1.400831412
6 1.400831412
EOD
$line3 << EOD
2 1.389212244
3 1.400831412
4 1.400831412
5 1.400831412
6 1.400831412
EOD
$point4 << EOD
2 1.749946607
3 1.978300605
4 1.978300605
5 1.978300605
6 1.978300605
EOD
$line4 << EOD
2 1.749946607
3 1.978300605
4 1.978300605
5 1.978300605
6 1.978300605
EOD
$point5 << EOD
2 2.480779396
3 2.708076896
4 2.708076896
5 2.708076896
6 2.708076896
EOD
$line5 << EOD
2 2.480779396
3 2.708076896
4 2.708076896
5 2.708076896
6 2.708076896
EOD
set title 'A handful of distinct tokens is enough' . "\n" . 'A = I, mean field: the best value found with at most m atoms, at several radii' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical maxcols 1 width -2 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'number of distinct tokens (atoms) searched' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [1.84:6.16]
set yrange [0.2145063314:2.803983456]
set xtics ('2' 2, '3' 3, '4' 4, '5' 5, '6' 6)
set ytics ('2' 0.3010299957, '' 0.4771212547 1, '' 0.6020599913 1, '5' 0.6989700043, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1, '20' 1.301029996, '' 1.477121255 1, '' 1.602059991 1, '50' 1.698970004, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '100' 2, '200' 2.301029996, '' 2.477121255 1, '' 2.602059991 1, '500' 2.698970004, '' 2.77815125 1)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line5 using 1:2 with lines lw 1.2 dt solid lc rgb '#56B4E9' notitle, \
  $point5 using 1:2 with points pt 15 ps 0.9 lc rgb '#56B4E9' title 'found, certified, R = 6', \
  $line4 using 1:2 with lines lw 1.2 dt solid lc rgb '#E69F00' notitle, \
  $point4 using 1:2 with points pt 11 ps 0.9 lc rgb '#E69F00' title 'found, certified, R = 5', \
  $line3 using 1:2 with lines lw 1.2 dt solid lc rgb '#CC79A7' notitle, \
  $point3 using 1:2 with points pt 13 ps 0.9 lc rgb '#CC79A7' title 'found, certified, R = 4', \
  $line2 using 1:2 with lines lw 1.2 dt solid lc rgb '#009E73' notitle, \
  $point2 using 1:2 with points pt 9 ps 0.9 lc rgb '#009E73' title 'found, certified, R = 3', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'found, certified, R = 2', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'found, certified, R = 1'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
