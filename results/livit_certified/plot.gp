# Draws plot.svg and plot.png: gnuplot -d plot.gp
$data << EOD
0 0.855 0.855
0.125 0.755 0.8
0.25 0.685 0.755
0.375 0.59 0.705
0.5 0.525 0.66
0.625 0.425 0.63
0.75 0.355 0.58
0.875 0.295 0.53
1 0.22 0.475
1.125 0.125 0.44
1.25 0.09 0.385
1.375 0.05 0.34
1.5 0.045 0.325
1.625 0.02 0.29
1.75 0.01 0.265
1.875 0.005 0.21
2 0 0.17
EOD
set title "What is proven, and what attacks leave: 200 test images of Fashion-MNIST" noenhanced
set encoding utf8
set grid back lt 1 dt solid lc rgb '#E6E6E6' lw 1
set border 3 lc rgb '#555555'
set tics nomirror out
set key at graph 0.98, graph 0.80 right top Left reverse noenhanced samplen 2.5 spacing 1.25 font ',11'
set xlabel 'l2 distance from the image, pixels in [0, 1]' noenhanced
set ylabel 'share answered right' noenhanced
set xrange [0:2]
set yrange [0:1]
set style fill solid 0.25 noborder
do for [kind in 'svg png'] {
    if (kind eq 'svg') {
        set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
    } else {
        set terminal pngcairo size 1000,620 font 'sans-serif,13' background '#FFFFFF'
    }
    set output 'plot.'.kind
    plot $data using 1:2:3 with filledcurves lc rgb '#E69F00' title 'the robust accuracy lies here', \
        0.855 with lines lw 1.5 dt 2 lc rgb '#555555' title 'clean accuracy', \
        $data using 1:3 with linespoints lw 2 pt 5 ps 0.8 lc rgb '#D55E00' \
            title 'under attack (projected gradients)', \
        $data using 1:2 with linespoints lw 2 pt 7 ps 0.8 lc rgb '#0072B2' title 'certified'
    unset output
}
