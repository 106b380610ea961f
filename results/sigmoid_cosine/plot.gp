# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in x and y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0.3010299957 0.5133138364
0.4771212547 0.6942913265
0.6989700043 0.9464769628
1 1.30745124
1.477121255 1.87092349
2 2.338589931
2.477121255 2.554884503
3 2.647873098
3.477121255 2.676632101
4 2.686954384
EOD
$line0 << EOD
0.3010299957 0.5133138364
0.4771212547 0.6942913265
0.6989700043 0.9464769628
1 1.30745124
1.477121255 1.87092349
2 2.338589931
2.477121255 2.554884503
3 2.647873098
3.477121255 2.676632101
4 2.686954384
EOD
$point1 << EOD
0.3010299957 0.7850640722
0.4771212547 0.9677592861
0.6989700043 1.021457566
1 1.057154053
1.477121255 1.080389498
2 1.088091953
2.477121255 1.090258326
3 1.091013157
3.477121255 1.091228505
4 1.091303843
EOD
$line1 << EOD
0.3010299957 0.7850640722
0.4771212547 0.9677592861
0.6989700043 1.021457566
1 1.057154053
1.477121255 1.080389498
2 1.088091953
2.477121255 1.090258326
3 1.091013157
3.477121255 1.091228505
4 1.091303843
EOD
$line2 << EOD
0.3010299957 0.7730053518
0.4771212547 0.9466362108
0.6989700043 1.163773129
1 1.454112312
1.477121255 1.899609701
2 2.338589931
2.477121255 2.554884503
3 2.647873098
3.477121255 2.676632101
4 2.686954384
EOD
$line3 << EOD
0.3010299957 1.947158031
0.4771212547 2.23239376
0.6989700043 2.613943352
1 3.162757832
1.477121255 4.0774918
2 5.108526034
2.477121255 6.058468563
3 7.102710945
3.477121255 8.056519594
4 9.102125131
EOD
$line4 << EOD
0.3010299957 1.473784046
0.4771212547 1.637735402
0.6989700043 1.847057993
1 2.135104354
1.477121255 2.598564907
2 3.112783857
2.477121255 3.585404939
3 4.10547989
3.477121255 4.58115901
4 5.103144373
EOD
set title 'Sigmoid and cosine attention: worst inputs against the bounds' . "\n" . 'A = V = I, |x| <= 2; sigmoid: bias -log n; cosine: tau = 4, eps = 0.1' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical maxcols 1 width -3 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'sequence length n (tokens)' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [0.1530711955:4.1479588]
set yrange [0.1697613847:9.445677582]
set xtics ('2' 0.3010299957, '3' 0.4771212547, '5' 0.6989700043, '10' 1, '30' 1.477121255, '100' 2, '300' 2.477121255, '1000' 3, '3000' 3.477121255, '10000' 4)
set ytics ('10^{2}' 2, '10^{4}' 4, '10^{6}' 6, '10^{8}' 8)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line4 using 1:2 with lines lw 2 dt '.' lc rgb '#D55E00' title 'bound scsa-sharp, kind = cosine', \
  $line3 using 1:2 with lines lw 2 dt '-.' lc rgb '#D55E00' title 'bound scsa, kind = cosine', \
  $line2 using 1:2 with lines lw 2 dt '-' lc rgb '#0072B2' title 'bound sigmoid, kind = sigmoid', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'found, certified, kind = cosine', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'found, certified, kind = sigmoid'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
