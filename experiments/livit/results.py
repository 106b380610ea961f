#!/usr/bin/env python3
"""How much of the accuracy is proven, and how much do attacks leave, at each l2 distance?

usage: results.py PROGRAM OUT: runs `tightlip certify --pgd` on the shipped model and images and
writes OUT/certify.json (a radius for each image), data.csv, plot.gp, plot.svg and plot.png.
"""
import json
import pathlib
import subprocess
import sys

EPSILONS = ",".join(f"{i / 8:g}" for i in range(1, 17))
ROOT = pathlib.Path(__file__).resolve().parent.parent
IMAGES = ROOT / "data/fashion_mnist"

SCRIPT = """# Draws plot.svg and plot.png: gnuplot -d plot.gp
$data << EOD
{rows}
EOD
set title "What is proven, and what attacks leave: {count} test images of Fashion-MNIST" noenhanced
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
do for [kind in 'svg png'] {{
    if (kind eq 'svg') {{
        set terminal svg size 1000,620 font 'sans-serif,13' background '#FFFFFF'
    }} else {{
        set terminal pngcairo size 1000,620 font 'sans-serif,13' background '#FFFFFF'
    }}
    set output 'plot.'.kind
    plot $data using 1:2:3 with filledcurves lc rgb '#E69F00' title 'the robust accuracy lies here', \\
        {clean} with lines lw 1.5 dt 2 lc rgb '#555555' title 'clean accuracy', \\
        $data using 1:3 with linespoints lw 2 pt 5 ps 0.8 lc rgb '#D55E00' \\
            title 'under attack (projected gradients)', \\
        $data using 1:2 with linespoints lw 2 pt 7 ps 0.8 lc rgb '#0072B2' title 'certified'
    unset output
}}
"""


def main():
    program, out = sys.argv[1], pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [program, "certify", str(ROOT / "livit/model.safetensors"), "--images", str(IMAGES / "images.idx"),
         "--labels", str(IMAGES / "labels.idx"), "--epsilon", EPSILONS, "--pgd", "--json"],
        check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    (out / "certify.json").write_text(done.stdout, encoding="utf-8")
    rows = [(row["epsilon"], row["certified"], row["attacked"]) for row in found["table"]]
    lines = [f"{e:g},{c:g},{a:g},{found['clean']:g}" for e, c, a in rows]
    (out / "data.csv").write_text("\n".join(["epsilon,certified,attacked,clean", *lines]) + "\n",
                                  encoding="utf-8")
    (out / "plot.gp").write_text(
        SCRIPT.format(rows="\n".join(f"{e:g} {c:g} {a:g}" for e, c, a in rows),
                      count=found["count"], clean=found["clean"]), encoding="utf-8")
    subprocess.run(["gnuplot", "-d", "plot.gp"], cwd=out, check=True)


main()
