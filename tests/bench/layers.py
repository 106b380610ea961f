"""Norms of whole layers: tightlip over panels of rows against torch's power iteration."""
from sides import lines, torch_side

# d, heads, n, mask, repeats, whether torch runs (at n = 8192 its matrices do not fit)
ROWS = ((768, 12, 64, "none", 3, True), (768, 12, 128, "none", 3, True),
        (768, 12, 128, "causal", 3, True), (768, 12, 256, "none", 3, True),
        (768, 12, 512, "none", 3, True), (768, 12, 512, "causal", 1, True),
        (768, 12, 1024, "none", 1, True), (768, 12, 1024, "causal", 1, False),
        (64, 1, 512, "none", 3, True), (64, 1, 512, "causal", 3, True),
        (64, 1, 2048, "none", 1, True), (64, 1, 2048, "causal", 1, True),
        (64, 1, 8192, "none", 1, False), (64, 1, 8192, "causal", 1, False))
CAP = 40.0  # seconds; a step is not broken off


def measure(directory):
    rows, path = [], directory / "layer.bin"
    for d, heads, n, mask, repeats, beside in ROWS:
        torch = None
        for row in lines(directory / "layer", d, heads, n, mask, 1, repeats, path):
            row = {"d": d, "heads": heads, "n": n, "mask": mask, "repeats": repeats, **row}
            # In single precision torch does not come within 1e-6: double is its side of both rows.
            if beside and not torch and torch_side and torch_side.functorch:
                torch = torch_side.power_iteration(path, d, heads, n, mask == "causal",
                                                   row["reference"], CAP)
            if torch:
                row["torch"], row["torch_ratio"] = torch, torch["seconds"] / row["seconds"]
            rows.append(row)
        path.unlink()
    return rows


def show(rows):
    print(f"\nnorm of a whole layer to 1e-6 (power iteration of torch in double precision: jvp and vjp, "
          f"until it is that near,\nat most {CAP:g} s): seconds of processor time, share of the rate of "
          f"large products in the precisions used")
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
