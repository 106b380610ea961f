"""Cost against each size, with fitted exponents."""
from sides import exponent, lines

# variable, sizes, driver's arguments
EVALUATION = (("m", (4, 8, 16, 32, 64, 128), lambda s: (s, 4)),
              ("d", (2, 4, 8, 16, 32, 64), lambda s: (8, s)))
LAYER = (("n", (128, 256, 512, 1024, 2048, 4096), lambda s: (64, 1, s)),
         ("H", (1, 2, 4, 8, 16), lambda s: (64 * s, s, 256)))
# of what, and what else is fixed
MEANING = {"m": "an evaluation, m atoms, d = 4", "d": "an evaluation, width d, m = 8",
           "n": "a product, n tokens, one head of width 64", "H": "a product, H heads of width 64, n = 256"}
ROUNDS, REPEATS = 15, 3  # the least of several: what else runs only adds


def measure(directory, driver):
    result = []
    for name, sizes, of in EVALUATION:
        times = []
        for size in sizes:
            walk = driver(directory, *of(size))
            times.append(min(walk.walk("ours", 16) for _ in range(ROUNDS)))
            walk.close()
        result.append({"variable": name, "of": "evaluation", "sizes": sizes, "seconds": times,
                       "exponent": exponent(sizes, times)})
    for name, sizes, of in LAYER:
        times = []
        for size in sizes:
            row = lines(directory / "layer", *of(size), "none", 1, REPEATS)[1]
            times.append(row["least"] / (2 * row["steps"] + 2))
        result.append({"variable": name, "of": "product", "sizes": sizes, "seconds": times,
                       "exponent": exponent(sizes, times)})
    return result


def show(rows):
    print("\ncost against each size (the exponent is fitted to the larger half): microseconds, "
          "products in mixed precision")
    for r in rows:
        cells = "  ".join(f"{s}: {t * 1e6:.4g}" for s, t in zip(r["sizes"], r["seconds"]))
        print(f"  {r['variable']:<3}^{r['exponent']:.2f}   {cells}   ({MEANING[r['variable']]})")
