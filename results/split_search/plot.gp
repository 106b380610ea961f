# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
1 -0.20453856
1.5 0.04181203073
2 0.09356826971
2.5 0.1389037839
3 0.2278634658
3.5 0.3036902614
4 0.3687074488
EOD
$line0 << EOD
1 -0.20453856
1.5 0.04181203073
2 0.09356826971
2.5 0.1389037839
3 0.2278634658
3.5 0.3036902614
4 0.3687074488
EOD
$point1 << EOD
1 -0.20453856
1.5 4.399744066e-16
2 2.8929824e-16
2.5 0.00060606836
3 0.01044532506
3.5 0.02495530176
4 0.03901734015
EOD
$line1 << EOD
1 -0.20453856
1.5 4.399744066e-16
2 2.8929824e-16
2.5 0.00060606836
3 0.01044532506
3.5 0.02495530176
4 0.03901734015
EOD
set title 'How far can moving apart exceed moving together?' . "\n" . 'Mean field: the input in the ball with the largest split block over joint block' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical maxcols 1 width -1 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'radius R of the ball of tokens' noenhanced
set ylabel 'split block over joint block' noenhanced
set xrange [0.88:4.12]
set yrange [-0.2274684003:0.3916372892]
set xtics ('1' 1, '1.5' 1.5, '2' 2, '2.5' 2.5, '3' 3, '3.5' 3.5, '4' 4)
set ytics ('0.6' -0.2218487496, '0.7' -0.15490196, '0.8' -0.09691001301, '0.9' -0.04575749056, '1' 0, '2' 0.3010299957)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'A = identity', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'A = minus-identity'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
