# Draws plot.svg and plot.png: gnuplot -d plot.gp
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0 0.793
0.125 0.793
0.25 0.793
0.375 0.793
0.5 0.793
0.75 0.793
1 0.793
1.25 0.793
1.5 0.793
1.75 0.793
2 0.793
EOD
$line0 << EOD
0 0.793
0.125 0.793
0.25 0.793
0.375 0.793
0.5 0.793
0.75 0.793
1 0.793
1.25 0.793
1.5 0.793
1.75 0.793
2 0.793
EOD
$point1 << EOD
0 0.793
0.125 0.769
0.25 0.746
0.375 0.723
0.5 0.691
0.75 0.646
1 0.6
1.25 0.533
1.5 0.457
1.75 0.379
2 0.338
EOD
$line1 << EOD
0 0.793
0.125 0.769
0.25 0.746
0.375 0.723
0.5 0.691
0.75 0.646
1 0.6
1.25 0.533
1.5 0.457
1.75 0.379
2 0.338
EOD
$point2 << EOD
0 0.793
0.125 0.757
0.25 0.724
0.375 0.675
0.5 0.634
0.75 0.491
1 0.241
1.25 0.045
1.5 0.001
1.75 0
2 0
EOD
$line2 << EOD
0 0.793
0.125 0.757
0.25 0.724
0.375 0.675
0.5 0.634
0.75 0.491
1 0.241
1.25 0.045
1.5 0.001
1.75 0
2 0
EOD
set title 'What is proven, and what attacks leave: 1000 test images of Fashion-MNIST' . "\n" . 'A vision transformer of one block: the robust accuracy lies between the two lower curves' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical maxcols 1 width -1 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'l2 distance from the image, pixels in [0, 1]' noenhanced
set ylabel 'share of the images answered right' noenhanced
set xrange [-0.08:2.08]
set yrange [0:0.82472]
set xtics ('0' 0, '0.5' 0.5, '1' 1, '1.5' 1.5, '2' 2)
set ytics ('0' 0, '0.2' 0.2, '0.4' 0.4, '0.6' 0.6, '0.8' 0.8)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line2 using 1:2 with lines lw 1.2 dt solid lc rgb '#009E73' notitle, \
  $point2 using 1:2 with points pt 9 ps 0.9 lc rgb '#009E73' title 'certified', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'under attack', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'clean accuracy'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
