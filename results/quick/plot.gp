# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in x and y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0.3010299957 0.903089987
0.4771212547 0.9091674098
0.6020599913 0.9188091744
0.903089987 0.9577515163
1.204119983 1.038423726
1.806179974 1.29089967
2.408239965 1.593078256
3 1.897690241
4 2.21623647
5 2.219621132
6 2.219703742
8 2.219703742
10 2.219703742
12 2.219703742

12.89992077 2.219703742
EOD
$line0 << EOD
0.3010299957 0.903089987
0.4771212547 0.9091674098
0.6020599913 0.9188091744
0.903089987 0.9577515163
1.204119983 1.038423726
1.806179974 1.29089967
2.408239965 1.593078256
3 1.897690241
4 2.21623647
5 2.219621132
6 2.219703742
8 2.219703742
10 2.219703742
12 2.219703742

12.89992077 2.219703742
EOD
$line1 << EOD
0.3010299957 1.320737055
0.4771212547 1.400701855
0.6020599913 1.459015168
0.903089987 1.603143022
1.204119983 1.750392586
1.806179974 2.048940872
2.408239965 2.349345983
3 2.645070751
4 3.145022651
5 3.64501784
6 4.145017359
8 5.145017306
10 6.145017306
12 7.145017306
EOD
$line2 << EOD
0.3010299957 4.588299208
0.4771212547 4.588299208
0.6020599913 4.588299208
0.903089987 4.588299208
1.204119983 4.588299208
1.806179974 4.588299208
2.408239965 4.588299208
3 4.588299208
4 4.588299208
5 4.588299208
6 4.588299208
8 4.588299208
10 4.588299208
12 4.588299208

12.89992077 4.588299208
EOD
$line3 << EOD
0.3010299957 0.9737840461
0.4771212547 1.137735402
0.6020599913 1.255272505
0.903089987 1.541933862
1.204119983 1.832508913
1.806179974 2.421603927
2.408239965 3.017033339
3 3.60547989
4 4.603144373
5 5.602403196
6 6.602168551
8 8.602070849
10 10.60206108
12 12.6020601
EOD
$line4 << EOD
0.3010299957 0.9321016984
0.4771212547 0.9811777347
0.6020599913 1.018635898
0.903089987 1.11744827
1.204119983 1.227292532
1.806179974 1.473542275
2.408239965 1.744352274
3 2.024488904
4 2.304469753
5 2.353787287
6 2.359416674
8 2.360045155
10 2.360051449
12 2.360051512

12.89992077 2.360051513
EOD
$line5 << EOD
0.3010299957 0.9032149375
0.4771212547 0.9463038144
0.6020599913 0.9739238132
0.903089987 1.053135762
1.204119983 1.150523917
1.806179974 1.385091317
2.408239965 1.646315167
3 1.919896946
4 2.220112877
5 2.220112877
6 2.220112877
8 2.220112877
10 2.220112877
12 2.220112877

12.89992077 2.220112877
EOD
set title 'The worst inputs found against every proven bound' . "\n" . 'Dot-product attention, tokens in a ball with ||A|| R^2 = 4, worst A of norm 1, V = I' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside right top vertical maxcols 1 width -2 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'sequence length n (tokens)' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [-0.1669288045:13.36787957]
set yrange [0.4351311825:13.0700189]
set xtics ('1' 0, '10^{2}' 2, '10^{4}' 4, '10^{6}' 6, '10^{8}' 8, '10^{10}' 10, '10^{12}' 12, '∞' 12.89992077)
set ytics ('10^{2}' 2, '10^{4}' 4, '10^{6}' 6, '10^{8}' 8, '10^{10}' 10, '10^{12}' 12)
last = 12.44996038
set arrow from first last, graph 0 to first last, graph 1 nohead dt '.' lc rgb '#999999'
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  keyentry with points pt 2 ps 1 lw 2 lc rgb '#777777' title 'a bound at n = ∞', \
  $line5 using 1:2 with lines lw 2 dt '--..' lc rgb '#0072B2' title 'bound sharp', \
  $line5 every ::::0 using ($1 > last ? $1 : NaN):2 with points pt 2 ps 1 lw 2 lc rgb '#0072B2' notitle, \
  $line4 using 1:2 with lines lw 2 dt '.' lc rgb '#E69F00' title 'bound schur', \
  $line4 every ::::0 using ($1 > last ? $1 : NaN):2 with points pt 2 ps 1 lw 2 lc rgb '#E69F00' notitle, \
  $line3 using 1:2 with lines lw 2 dt '-.' lc rgb '#CC79A7' title 'bound half-softmax', \
  $line2 using 1:2 with lines lw 2 dt '-' lc rgb '#009E73' title 'bound castin-mean-field', \
  $line2 every ::::0 using ($1 > last ? $1 : NaN):2 with points pt 2 ps 1 lw 2 lc rgb '#009E73' notitle, \
  $line1 using 1:2 with lines lw 2 dt solid lc rgb '#D55E00' title 'bound castin-general', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#000000' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#000000' title 'best input found, certified'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
