#!/usr/bin/env python3
"""browser.py PROGRAM RESULTS...: the report in headless Chromium, where that is installed: no console
error, every plot visible, no column empty, tables sort by number both ways, a witness can be downloaded.
Last line: `N passed, N failed`."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROBE = """
<script>
const wrong = [];
for (const svg of document.querySelectorAll('figure svg'))
  if (!(svg.getBoundingClientRect().width > 100 && svg.getBBox().height > 100)) wrong.push('plot');
let tables = 0;
for (const table of document.querySelectorAll('table')) {
  tables++;
  const heads = [...table.querySelectorAll('th')];
  heads.forEach((head, i) => {
    const some = [...table.tBodies[0].rows].some(row => row.cells[i].textContent);
    if (some !== head.getBoundingClientRect().width > 0) wrong.push('column');
  });
  const column = heads.findIndex(h => h.textContent.trim() === 'found');
  const values = () => [...table.tBodies[0].rows].map(r => key(r.cells[column])).filter(x => typeof x === 'number');
  for (const sign of [1, -1]) {
    heads[column].querySelector('button').click();
    const found = values();
    if (!found.every((x, i) => i === 0 || sign * (x - found[i - 1]) >= 0)) wrong.push('sort');
  }
}
const link = document.querySelector('a[data-witness]');
if (link) { link.addEventListener('click', e => e.preventDefault()); link.click();
  if (!link.href.startsWith('blob:')) wrong.push('witness'); }
document.title = `tables ${tables} plots ${document.querySelectorAll('figure svg').length} wrong [${wrong}]`;
</script>
</body>"""


def main():
    program, *places = sys.argv[1:]
    results = [place for place in places if pathlib.Path(place, "manifest.json").exists()]
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        print("no chromium: the page is not looked at\n0 passed, 0 failed")
        return 0
    with tempfile.TemporaryDirectory() as tmp:
        page = pathlib.Path(tmp, "report.html")
        subprocess.run([program, "report", *results, "-o", str(page)], check=True, stdout=subprocess.DEVNULL)
        page.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE), encoding="utf-8")
        run = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
             f"--user-data-dir={tmp}/profile", page.as_uri()], capture_output=True, text=True, timeout=120)
    title = re.search(r"<title>(.*?)</title>", run.stdout)
    console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    wanted = f"tables {len(results)} plots {len(results)} wrong []"
    good = not console and title and title.group(1) == wanted
    if not good:
        print(f"expected {wanted!r} and a silent console, found {title and title.group(1)!r}, {console}")
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    return 0 if good else 1


sys.exit(main())
