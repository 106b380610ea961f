# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0 1.474745877
1 1.241221753
2 1.49369076
3 1.467947391
4 1.453707798
5 1.362788812
6 1.45894702
7 1.368307372
8 1.449201895
9 1.37553587
10 1.472827249
11 1.364239431
EOD
$line0 << EOD
0 1.474745877
1 1.241221753
2 1.49369076
3 1.467947391
4 1.453707798
5 1.362788812
6 1.45894702
7 1.368307372
8 1.449201895
9 1.37553587
10 1.472827249
11 1.364239431
EOD
$point1 << EOD
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
$line1 << EOD
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
set title 'Every head of layer 6 of GPT-2 at initialisation on the outputs of its layer norm' . "\n" . 'Heads 0 to 11 of layer 6, causal, n tokens' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside center bottom vertical maxcols 1 height 1 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'head' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [-0.44:11.44]
set yrange [1.219076508:1.816998119]
set xtics ('0' 0, '2' 2, '4' 4, '6' 6, '8' 8, '10' 10)
set ytics ('20' 1.301029996, '30' 1.477121255, '40' 1.602059991, '50' 1.698970004, '60' 1.77815125)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'best proven bound, n = 4', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'best input found, certified, n = 4'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
