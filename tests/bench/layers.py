"""Norms of whole layers: tightlip over panels of rows against torch's power iteration."""
from sides import lines, torch_side

# d, heads, n, mask, repeats, precisions that torch runs in
ROWS = ((768, 12, 64, "none", 3, ()), (768, 12, 128, "none", 3, ("double", "single")),
        (768, 12, 128, "causal", 3, ("single",)), (768, 12, 512, "none", 3, ("double", "single")),
        (768, 12, 512, "causal", 1, ()), (768, 12, 1024, "none", 1, ()),
        (64, 1, 512, "none", 3, ("double",)), (64, 1, 2048, "none", 1, ("double",)),
        (64, 1, 2048, "causal", 1, ()), (64, 1, 8192, "none", 1, ()),
        (64, 1, 8192, "causal", 1, ()))
CAP = 12.0


def measure(directory):
    rows, path = [], directory / "layer.bin"
    for d, heads, n, mask, repeats, sides in ROWS:
        for row in lines(directory / "layer", d, heads, n, mask, 1, repeats, path):
            row = {"d": d, "heads": heads, "n": n, "mask": mask, "repeats": repeats, **row}
            row["share"] = row["rate"] / row["peak"]
            if torch_side and torch_side.functorch and row["precision"] in sides:
                row["torch"] = torch_side.power_iteration(
                    path, d, heads, n, mask == "causal", row["precision"] == "single",
                    row["reference"], CAP)
                row["torch_ratio"] = row["torch"]["seconds"] / row["seconds"]
            rows.append(row)
        path.unlink()
    return rows


def show(rows):
    print(f"\nnorm of a whole layer to 1e-6 (power iteration of torch: jvp and vjp, until it is that "
          f"near, at most {CAP:g} s):\nseconds of processor time, share of the peak of a large product "
          f"in the same precision")
    print(f"{'d':>4}{'H':>4}{'n':>6} {'mask':<7}{'precision':<10}{'seconds':>9}{'steps':>6}"
          f"{'GFLOP/s':>9}{'share':>7}{'MB':>7}{'off':>9}{'torch':>9}{'ratio':>7}")
    for r in rows:
        off = abs(r["value"] / r["reference"] - 1)
        tail = ""
        if "torch" in r:
            least = "" if r["torch"]["reached"] else ">"
            tail = f"{r['torch']['seconds']:>9.4g}{least + format(r['torch_ratio'], '.3g'):>7}"
        print(f"{r['d']:>4}{r['heads']:>4}{r['n']:>6} {r['mask']:<7}{r['precision']:<10}"
              f"{r['seconds']:>9.4g}{r['steps']:>6}{r['rate'] / 1e9:>9.3g}{r['share']:>7.0%}"
              f"{r['bytes'] / 1e6:>7.0f}{off:>9.1e}{tail}")
