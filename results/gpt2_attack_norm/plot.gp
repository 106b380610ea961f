# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in x and y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
0.6020599913 1.356618953
1.204119983 1.680943172
1.806179974 2.012723049
EOD
$line0 << EOD
0.6020599913 1.356618953
1.204119983 1.680943172
1.806179974 2.012723049
EOD
$point1 << EOD
0.6020599913 1.423459113
1.204119983 1.776998803
1.806179974 1.879241918
EOD
$line1 << EOD
0.6020599913 1.423459113
1.204119983 1.776998803
1.806179974 1.879241918
EOD
$point2 << EOD
0.6020599913 1.793909392
1.204119983 2.003691973
1.806179974 2.258338433
EOD
$line2 << EOD
0.6020599913 1.793909392
1.204119983 2.003691973
1.806179974 2.258338433
EOD
$point3 << EOD
0.6020599913 1.792892382
1.204119983 2.002660098
1.806179974 2.257298871
EOD
$line3 << EOD
0.6020599913 1.792892382
1.204119983 2.002660098
1.806179974 2.257298871
EOD
set title 'One head of GPT-2 at initialisation on the outputs of its layer norm' . "\n" . 'Head 0 of layers 0 and 6, causal, n tokens' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside center bottom vertical maxcols 1 height 1 invert Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'sequence length n (tokens)' noenhanced
set ylabel 'local Lipschitz constant  ‖J‖₂' noenhanced
set xrange [0.553895192:1.854344773]
set yrange [1.320550174:2.294407212]
set xtics ('4' 0.6020599913, '16' 1.204119983, '64' 1.806179974)
set ytics ('' 1.477121255 1, '' 1.602059991 1, '50' 1.698970004, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '100' 2)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line3 using 1:2 with lines lw 1.2 dt '-' lc rgb '#D55E00' notitle, \
  $point3 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' title 'best proven bound, layer = 6', \
  $line2 using 1:2 with lines lw 1.2 dt '-' lc rgb '#0072B2' notitle, \
  $point2 using 1:2 with points pt 5 ps 0.9 lc rgb '#0072B2' title 'best proven bound, layer = 0', \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 7 ps 0.9 lc rgb '#D55E00' title 'best input found, certified, layer = 6', \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' title 'best input found, certified, layer = 0'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
