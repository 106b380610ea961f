# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0 1.884290374
1 1.980245556
2 2.148058342
3 1.995921224
4 1.999069905
5 2.082741354
6 2.017566646
7 2.024594689
EOD
$line0 << EOD
0 1.884290374
1 1.980245556
2 2.148058342
3 1.995921224
4 1.999069905
5 2.082741354
6 2.017566646
7 2.024594689
EOD
$point1 << EOD
0 2.174850636
1 2.26002144
2 2.167489415
3 2.828512193
4 2.174242418
5 2.217072374
6 2.175578328
7 2.206692084
EOD
$line1 << EOD
0 2.174850636
1 2.26002144
2 2.167489415
3 2.828512193
4 2.174242418
5 2.217072374
6 2.175578328
7 2.206692084
EOD
$point2 << EOD
0 0.2972320483
1 0.408947727
2 0.3786159189
3 0.3222695736
4 0.3282506722
5 0.4672304456
6 0.34121921
7 0.4518182824
EOD
$line2 << EOD
0 0.2972320483
1 0.408947727
2 0.3786159189
3 0.3222695736
4 0.3282506722
5 0.4672304456
6 0.34121921
7 0.4518182824
EOD
$point3 << EOD
0 0.4456140052
1 0.5765390731
2 0.5073107568
3 1.184412593
4 0.403290975
5 0.5039072452
6 0.4135434429
7 0.3397749446
EOD
$line3 << EOD
0 0.4456140052
1 0.5765390731
2 0.5073107568
3 1.184412593
4 0.403290975
5 0.5039072452
6 0.4135434429
7 0.3397749446
EOD
$line4 << EOD
0 2.365620493
1 2.412952027
2 2.57328814
3 2.389345085
4 2.4093211
5 2.487730681
6 2.450781833
7 2.424614146
EOD
$line5 << EOD
0 2.6716675
1 2.757591186
2 2.670653701
3 3.331409265
4 2.660138387
5 2.735099531
6 2.676258497
7 2.7230554
EOD
$line6 << EOD
0 2.315787569
1 2.36353308
2 2.522712465
3 2.339045288
4 2.359794329
5 2.437689464
6 2.401304657
7 2.374767404
EOD
$line7 << EOD
0 2.62191174
1 2.707778284
2 2.621186308
3 3.282069954
4 2.609707882
5 2.685139459
6 2.626249246
7 2.673203422
EOD
$line8 << EOD
0 2.027090326
1 2.103454706
2 2.253559361
3 2.096718565
4 2.096875418
5 2.192954844
6 2.123087499
7 2.127250667
EOD
$line9 << EOD
0 2.310187806
1 2.464165492
2 2.280967085
3 2.964292905
4 2.283283916
5 2.360569086
6 2.286435214
7 2.32230437
EOD
set title 'Trained heads behind their layer norm:' . "\n" . 'the worst 16 tokens on its ellipsoid, and real ones' . "\n" . 'Every head of two trained blocks, tokens in the' . "\n" . 'image of the layer norm with its gain and shift' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside center bottom vertical maxrows 5 height 1 width -6 Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'head' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [-0.28:7.28]
set yrange [0.1758649596:3.452776353]
set xtics ('0' 0, '1' 1, '2' 2, '3' 3, '4' 4, '5' 5, '6' 6, '7' 7)
set ytics ('' 0.3010299957 1, '' 0.4771212547 1, '' 0.6020599913 1, '' 0.6989700043 1, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1, '' 1.301029996 1, '' 1.477121255 1, '' 1.602059991 1, '' 1.698970004 1, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '100' 2, '' 2.301029996 1, '' 2.477121255 1, '' 2.602059991 1, '' 2.698970004 1, '' 2.77815125 1, '' 2.84509804 1, '' 2.903089987 1, '' 2.954242509 1, '1000' 3, '' 3.301029996 1)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line9 using 1:2 with lines lw 2 dt '.' lc rgb '#D55E00' notitle, \
  $line8 using 1:2 with lines lw 2 dt '.' lc rgb '#0072B2' notitle, \
  $line7 using 1:2 with lines lw 2 dt '-.' lc rgb '#D55E00' notitle, \
  $line6 using 1:2 with lines lw 2 dt '-.' lc rgb '#0072B2' notitle, \
  $line5 using 1:2 with lines lw 2 dt '-' lc rgb '#D55E00' notitle, \
  $line4 using 1:2 with lines lw 2 dt '-' lc rgb '#0072B2' notitle, \
  $line3 using 1:2 with lines lw 1.2 dt '-' lc rgb '#D55E00' notitle, \
  $point3 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' notitle, \
  $line2 using 1:2 with lines lw 1.2 dt '-' lc rgb '#0072B2' notitle, \
  $point2 using 1:2 with points pt 5 ps 0.9 lc rgb '#0072B2' notitle, \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 7 ps 0.9 lc rgb '#D55E00' notitle, \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' notitle, \
  keyentry with points pt 7 ps 0.9 lc rgb '#0072B2' title 'best input found, certified, block = 1', \
  keyentry with points pt 7 ps 0.9 lc rgb '#D55E00' title 'best input found, certified, block = 2', \
  keyentry with points pt 5 ps 0.9 lc rgb '#0072B2' title 'at the given tokens, certified, block = 1', \
  keyentry with points pt 5 ps 0.9 lc rgb '#D55E00' title 'at the given tokens, certified, block = 2', \
  keyentry with lines lw 2 dt '-' lc rgb '#0072B2' title 'bound schur, block = 1', \
  keyentry with lines lw 2 dt '-' lc rgb '#D55E00' title 'bound schur, block = 2', \
  keyentry with lines lw 2 dt '-.' lc rgb '#0072B2' title 'bound sharp, block = 1', \
  keyentry with lines lw 2 dt '-.' lc rgb '#D55E00' title 'bound sharp, block = 2', \
  keyentry with lines lw 2 dt '.' lc rgb '#0072B2' title 'bound ellipsoid, block = 1', \
  keyentry with lines lw 2 dt '.' lc rgb '#D55E00' title 'bound ellipsoid, block = 2'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
