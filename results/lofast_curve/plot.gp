# Draws plot.svg and plot.png: gnuplot -d plot.gp
# Data are logarithms to base ten in x and y.
if (!exists('svg')) svg = 'plot.svg'
if (!exists('png')) png = 'plot.png'
$point0 << EOD
-2 0.1684724826
-1.690359843 0.1684731555
-1.380719686 0.1684745502
-1.071079529 0.1684774858
-0.7614393726 0.1684838486
-0.4517992158 0.1684983621
-0.142159059 0.1685341278
0.1674810979 0.1686305032
0.4771212547 0.1689027003
EOD
$line0 << EOD
-2 0.1684724826
-1.690359843 0.1684731555
-1.380719686 0.1684745502
-1.071079529 0.1684774858
-0.7614393726 0.1684838486
-0.4517992158 0.1684983621
-0.142159059 0.1685341278
0.1674810979 0.1686305032
0.4771212547 0.1689027003
EOD
$point1 << EOD
-2 0.2513074533
-1.690359843 0.2513077964
-1.380719686 0.2513085139
-1.071079529 0.2513100499
-0.7614393726 0.2513134842
-0.4517992158 0.251321737
-0.142159059 0.2513437117
0.1674810979 0.2514094379
0.4771212547 0.2516263572
EOD
$line1 << EOD
-2 0.2513074533
-1.690359843 0.2513077964
-1.380719686 0.2513085139
-1.071079529 0.2513100499
-0.7614393726 0.2513134842
-0.4517992158 0.251321737
-0.142159059 0.2513437117
0.1674810979 0.2514094379
0.4771212547 0.2516263572
EOD
$line2 << EOD
-2 0.3383008461
-1.690359843 0.3400797047
-1.380719686 0.3437154947
-1.071079529 0.3511593799
-0.7614393726 0.3664421623
-0.4517992158 0.3979118352
-0.142159059 0.4625362319
0.1674810979 0.5916039123
0.4771212547 0.8277373596
EOD
$line3 << EOD
-2 0.793038145
-1.690359843 0.7975202777
-1.380719686 0.8066138067
-1.071079529 0.8249569212
-0.7614393726 0.8615217759
-0.4517992158 0.9326669901
-0.142159059 1.064654012
0.1674810979 1.289613901
0.4771212547 1.628425582
EOD
$line4 << EOD
-2 0.3383008461
-1.690359843 0.3400797047
-1.380719686 0.3437154947
-1.071079529 0.3511593799
-0.7614393726 0.3664421623
-0.4517992158 0.3979118352
-0.142159059 0.4625362319
0.1674810979 0.5916039123
0.4771212547 0.8277373596
EOD
$line5 << EOD
-2 1.086486468
-1.690359843 1.088772781
-1.380719686 1.093446854
-1.071079529 1.103019866
-0.7614393726 1.12267814
-0.4517992158 1.163105641
-0.142159059 1.245501791
0.1674810979 1.406121717
0.4771212547 1.685723016
EOD
$line6 << EOD
-2 0.8614825202
-1.690359843 0.8624797387
-1.380719686 0.8645158622
-1.071079529 0.8686766552
-0.7614393726 0.8771916884
-0.4517992158 0.894655451
-0.142159059 0.9305224954
0.1674810979 1.00369152
0.4771212547 1.14762254
EOD
$line7 << EOD
-2 1.679769573
-1.690359843 1.681132798
-1.380719686 1.683912679
-1.071079529 1.689578628
-0.7614393726 1.701113585
-0.4517992158 1.72452702
-0.142159059 1.771662452
0.1674810979 1.864416063
0.4771212547 1.973266615
EOD
set title 'LoFAST: best attack below the bound, one head and eight' . "\n" . '10 normal tokens of width 32; fine and coarse: the bound with norms taken apart' noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key outside center bottom vertical maxrows 4 height 1 width -6 Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'radius of the Frobenius ball' noenhanced
set ylabel 'output movement over input movement' noenhanced
set xrange [-2.09908485:0.5762061049]
set yrange [0.09628071726:2.045458381]
set xtics ('' -2.096910013 1, '' -2.045757491 1, '0.01' -2, '' -1.698970004 1, '' -1.522878745 1, '' -1.397940009 1, '' -1.301029996 1, '' -1.22184875 1, '' -1.15490196 1, '' -1.096910013 1, '' -1.045757491 1, '0.1' -1, '' -0.6989700043 1, '' -0.5228787453 1, '' -0.3979400087 1, '' -0.3010299957 1, '' -0.2218487496 1, '' -0.15490196 1, '' -0.09691001301 1, '' -0.04575749056 1, '1' 0, '' 0.3010299957 1, '' 0.4771212547 1)
set ytics ('2' 0.3010299957, '' 0.4771212547 1, '' 0.6020599913 1, '5' 0.6989700043, '' 0.7781512504 1, '' 0.84509804 1, '' 0.903089987 1, '' 0.9542425094 1, '10' 1, '20' 1.301029996, '' 1.477121255 1, '' 1.602059991 1, '50' 1.698970004, '' 1.77815125 1, '' 1.84509804 1, '' 1.903089987 1, '' 1.954242509 1, '100' 2)
set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
set output svg
plot \
  $line7 using 1:2 with lines lw 2 dt '.' lc rgb '#D55E00' notitle, \
  $line6 using 1:2 with lines lw 2 dt '.' lc rgb '#0072B2' notitle, \
  $line5 using 1:2 with lines lw 2 dt '-.' lc rgb '#D55E00' notitle, \
  $line4 using 1:2 with lines lw 2 dt '-.' lc rgb '#0072B2' notitle, \
  $line3 using 1:2 with lines lw 2 dt '-' lc rgb '#D55E00' notitle, \
  $line2 using 1:2 with lines lw 2 dt '-' lc rgb '#0072B2' notitle, \
  $line1 using 1:2 with lines lw 1.2 dt solid lc rgb '#D55E00' notitle, \
  $point1 using 1:2 with points pt 5 ps 0.9 lc rgb '#D55E00' notitle, \
  $line0 using 1:2 with lines lw 1.2 dt solid lc rgb '#0072B2' notitle, \
  $point0 using 1:2 with points pt 7 ps 0.9 lc rgb '#0072B2' notitle, \
  keyentry with points pt 7 ps 0.9 lc rgb '#0072B2' title 'attention = 1 head', \
  keyentry with points pt 5 ps 0.9 lc rgb '#D55E00' title 'attention = 8 heads', \
  keyentry with lines lw 2 dt '-' lc rgb '#0072B2' title 'bound lofast, attention = 1 head', \
  keyentry with lines lw 2 dt '-' lc rgb '#D55E00' title 'bound lofast, attention = 8 heads', \
  keyentry with lines lw 2 dt '-.' lc rgb '#0072B2' title 'bound lofast-fine, attention = 1 head', \
  keyentry with lines lw 2 dt '-.' lc rgb '#D55E00' title 'bound lofast-fine, attention = 8 heads', \
  keyentry with lines lw 2 dt '.' lc rgb '#0072B2' title 'bound lofast-coarse, attention = 1 head', \
  keyentry with lines lw 2 dt '.' lc rgb '#D55E00' title 'bound lofast-coarse, attention = 8 heads'
set terminal pngcairo size 1000,620 font 'sans-serif,11' background '#FFFFFF'
set output png
replot
set output
