"""Exponents of the local norm of network layers in the length of a text, with 95 % intervals.

With several draws of the weights, or several images, each has a slope of its own, by least squares on logarithms; the
interval is Student's over the draws, since the lengths of one are not independent. With one
draw it is that of the fit, and says nothing about other weights or texts."""
import collections
import math

STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306,
           9: 2.262, 10: 2.228}


def student(freedom):
    """The 97.5 % quantile: past the table by two terms of Cornish and Fisher's series, to 0.1 %."""
    z = 1.959964
    return STUDENT.get(freedom) or (z + (z ** 3 + z) / (4 * freedom)
                                    + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2))


def line(points):
    """Slope and its standard error."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    sxx = sum((x - mx) ** 2 for x, _ in points)
    slope = sum((x - mx) * (y - my) for x, y in points) / sxx
    rest = sum((y - my - slope * (x - mx)) ** 2 for x, y in points)
    return slope, math.sqrt(rest / (n - 2) / sxx)


def interval(draws):
    slopes = [line(points) for points in draws.values()]
    n = len(slopes)
    if n == 1:
        slope, error = slopes[0]
        return slope, student(len(next(iter(draws.values()))) - 2) * error
    mean = sum(s for s, _ in slopes) / n
    spread = math.sqrt(sum((s - mean) ** 2 for s, _ in slopes) / (n - 1))
    return mean, student(n - 1) * spread / math.sqrt(n)


def fits(rows):
    """Of each layer and head with at least three lengths: (layer, head), exponent and half interval of the norm, the
    same of jt-f, and the median norms at the least and the largest length."""
    groups = collections.defaultdict(lambda: {"lower_log10": collections.defaultdict(list),
                                              "norm:jt-f": collections.defaultdict(list)})
    for row in rows:
        for column, draws in groups[(int(row["layer"]), row.get("head", "all"))].items():
            if row[column]:
                draws[row.get("seed"), row.get("image")].append(
                    (math.log10(int(row.get("length") or row["n"])), float(row[column])))
    for place, columns in sorted(groups.items()):
        norm, other = columns["lower_log10"], columns["norm:jt-f"]
        if not norm or any(len(points) < 3 for points in [*norm.values(), *other.values()]):
            continue
        ends = []
        for pick in (min, max):
            values = sorted(pick(points)[1] for points in norm.values())
            ends.append(f"{10 ** values[len(values) // 2]:.3g}")
        yield place, interval(norm), interval(other), ends


def said(exponent, half):
    """To three decimals, without the sign of nothing and without an interval of nothing."""
    return (f"{0 if abs(exponent) < 5e-4 else exponent:.3f} ± " + (f"{half:.3f}" if half >= 5e-4 else "<0.001"))


def table(rows):
    """Markdown lines, and nothing where no layer has three lengths."""
    radii = [float(r["mean_radius"]) for r in rows if r["mean_radius"]]
    lines = ["| layer | head | exponent of the norm in n | exponent of jt-f in n | norm at the least and largest n (medians) |",
             "|---|---|---|---|---|"]
    for (layer, head), (a, da), (b, db), ends in fits(rows):
        lines.append(f"| {layer} | {head} | {said(a, da)} | {said(b, db)} | {ends[0]}, {ends[1]} |")
    if len(lines) == 2:
        return []
    lines += ["", f"Intervals are 95 %. Mean token lengths lie in {min(radii):.4g} to {max(radii):.4g}"
              + ("; they do not vary enough for an exponent in them." if max(radii) < 1.05 * min(radii)
                 else ".")]
    return lines


def growth(norm, half):
    """What an interval says."""
    return "not told from none" if norm - half <= 0 <= norm + half else "grows" if norm > 0 else "falls"


def page(measured, trained):
    """The question over all models: measured are (experiment, rows of a model), trained are (experiment, block, slope and
    half interval of the norm, the same of jt-f) of layers whose weights are data."""
    lines = ["## Does ‖J‖ grow with n at real inputs?", "",
             "Castin, Ablin and Peyre 2024 report growth like n^(1/4) for pretrained BERT and GPT-2; the scripts released with it "
             "converge to √|J′f|, which is no norm (jt-f). Whole layers, all heads; exponents in n with 95 % intervals:", "",
             "| layer | exponent of ‖J‖₂ | that says | exponent of jt-f |", "|---|---|---|---|"]
    for name, rows in measured:
        for (layer, head), (a, da), (b, db), _ in fits(rows):
            if head == "all":
                lines.append(f"| [{name}](#{name}), layer {layer} | {said(a, da)} | {growth(a, da)} | {said(b, db)} |")
    for name, block, (a, da), (b, db) in trained:
        lines.append(f"| [{name}](#{name}), trained, {block} | {said(a, da)} | {growth(a, da)} | {said(b, db)} |")
    return lines + ["", "Read with care. At initialisation the norm stays (BERT, ViT) or creeps up as that of a causal average does "
                    "(GPT-2), where jt-f shows close to n^(1/4) in all but the first layer of GPT-2. Trained attention may grow: of the two blocks "
                    "of a text recogniser one does so slowly and one about as n^(1/4), with an interval from half of that "
                    "to one and a half of it, on texts of 4 to 160 tokens. Pretrained BERT and GPT-2 were not run: their weights are not shipped, and "
                    "`experiments/pretrained` says where they go.", "",
                    "![gpt2_random](gpt2_random/plot.png)", "", "![jt_f](jt_f/plot.png)", ""]
