# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0 1.481960585
1 1.475814915
2 1.495133382
3 1.472506177
4 1.371493009
5 1.374432146
6 1.485924537
7 1.478362542
8 1.473527472
9 1.476202515
10 1.478272994
11 1.374615401
EOD
$line0 << EOD
0 1.481960585
1 1.475814915
2 1.495133382
3 1.472506177
4 1.371493009
5 1.374432146
6 1.485924537
7 1.478362542
8 1.473527472
9 1.476202515
10 1.478272994
11 1.374615401
EOD
$point1 << EOD
0 1.738570508
1 1.829704389
2 1.848808508
3 1.879036195
4 1.766924031
5 1.86988852
6 1.863997809
7 1.742123467
8 1.820468186
9 1.778004136
10 1.815996069
11 1.863440179
EOD
$line1 << EOD
0 1.738570508
1 1.829704389
2 1.848808508
3 1.879036195
4 1.766924031
5 1.86988852
6 1.863997809
7 1.742123467
8 1.820468186
9 1.778004136
10 1.815996069
11 1.863440179
EOD
$point2 << EOD
0 0.1494056855
1 0.147665639
2 0.1593486033
3 0.1471371069
4 0.1509426694
5 0.1481154965
6 0.1530453284
7 0.1485511359
8 0.138210425
9 0.1465285779
10 0.1477744658
11 0.1479998603
EOD
$line2 << EOD
0 0.1494056855
1 0.147665639
2 0.1593486033
3 0.1471371069
4 0.1509426694
5 0.1481154965
6 0.1530453284
7 0.1485511359
8 0.138210425
9 0.1465285779
10 0.1477744658
11 0.1479998603
EOD
$point3 << EOD
0 0.4504355024
1 0.4486956101
2 0.46037838
3 0.4481670045
4 0.4519725692
5 0.4491454819
6 0.4540709076
7 0.4495810028
8 0.4390759344
9 0.4475584764
10 0.4487762994
11 0.449029345
EOD
$line3 << EOD
0 0.4504355024
1 0.4486956101
2 0.46037838
3 0.4481670045
4 0.4519725692
5 0.4491454819
6 0.4540709076
7 0.4495810028
8 0.4390759344
9 0.4475584764
10 0.4487762994
11 0.449029345
EOD
$point4 << EOD
0 1.792892382
1 1.77934458
2 1.794852875
3 1.788725046
4 1.781597358
5 1.789803364
6 1.786397796
7 1.782094457
8 1.775372733
9 1.783447191
10 1.790030983
11 1.77955697
EOD
$line4 << EOD
0 1.792892382
1 1.77934458
2 1.794852875
3 1.788725046
4 1.781597358
5 1.789803364
6 1.786397796
7 1.782094457
8 1.775372733
9 1.783447191
10 1.790030983
11 1.77955697
EOD
$point5 << EOD
0 2.002660098
1 1.989163194
2 2.004654851
3 1.998500856
4 1.991420452
5 1.999578747
6 1.996209119
7 1.991904944
8 1.98516772
9 1.993243053
10 1.999803969
11 1.989376117
EOD
$line5 << EOD
0 2.002660098
1 1.989163194
2 2.004654851
3 1.998500856
4 1.991420452
5 1.999578747
6 1.996209119
7 1.991904944
8 1.98516772
9 1.993243053
10 1.999803969
11 1.989376117
EOD
set title 'Every head of layer 6 of GPT-2 at initialisation: search, adversarial tokens, best bound' . "\n" . 'Heads 0 to 11 of layer 6, causal, n tokens in the ball |x| <= sqrt(768)' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside center bottom vertical maxcols 1 height 1 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'head' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [-0.44:11.44]
set yrange [0.06355264799:2.079312628]
set xtics ('0' 0, '2' 2, '4' 4, '6' 6, '8' 8, '10' 10)
set ytics ('2' 0.3010299957, '' 0.4771212547 1, '' 0.6020599913 1, '5' 0.6989700043, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1, '20' 1.301029996, '' 1.477121255 1, '' 1.602059991 1, '50' 1.698970004, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '100' 2)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line5 using 1:2 with lines lw 1.2 dt '-.' lc rgb '#D55E00' notitle, \
  $point5 using 1:2 with points pt 9 ps 0.9 lc rgb '#D55E00' title 'best proven bound, n = 16', \
  $line4 using 1:2 with lines lw 1.2 dt '-.' lc rgb '#0072B2' notitle, \
  $point4 using 1:2 with points pt 9 ps 0.9 lc rgb '#0072B2' title 'best proven bound, n = 4', \
  $line3 using 1:2 with lines lw 1.2 dt '-' lc rgb '#D55E00' notitle, \
  $point3 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'at the given tokens, certified, n = 16', \
  $line2 using 1:2 with lines lw 1.2 dt '-' lc rgb '#0072B2' notitle, \
  $point2 using 1:2 with points pt 5 ps 0.9 lc rgb '#0072B2' title 'at the given tokens, certified, n = 4', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 7 ps 0.9 lc rgb '#D55E00' title 'best input found, certified, n = 16', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'best input found, certified, n = 4'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
