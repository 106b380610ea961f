#include "experiment/report_page.h"

#include <string.h>

#include "experiment/plot.h"

const char *const tl_report_head =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>tightlip: results</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n"
    ":root { color-scheme: light dark; --back: #fff; --text: #1b1b1b; --soft: #5a5a5a; "
    "--line: #d8d8d8; --mark: #b3261e; --link: #0b57a4; --stripe: #f6f6f6; }\n"
    "@media (prefers-color-scheme: dark) { :root { --back: #16181b; --text: #e6e6e6; "
    "--soft: #a5a5a5; --line: #3a3d42; --mark: #ff8a80; --link: #8ab8ff; --stripe: #1e2125; } }\n"
    "body { margin: 0 auto; max-width: 70rem; padding: 0 1rem 4rem; background: var(--back); "
    "color: var(--text); font: 16px/1.5 system-ui, sans-serif; }\n"
    "h1 { margin: 1.5rem 0 .5rem; } h2 { margin: 3rem 0 .25rem; }\n"
    "p { margin: .4rem 0; } .soft { color: var(--soft); } a { color: var(--link); }\n"
    "nav ul { columns: 18rem; column-gap: 2.5rem; padding-left: 1.2rem; }\n"
    "nav li { break-inside: avoid; }\n"
    "figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); overflow-x: auto; "
    "}\n"
    "figure svg { display: block; width: 100%; height: auto; min-width: 34rem; }\n"
    "@media (prefers-color-scheme: dark) { figure { background: none; } "
    "figure svg { background: #fff; filter: invert(.91) hue-rotate(180deg); } }\n"
    ".scroll { overflow: auto; max-height: 32rem; border: 1px solid var(--line); }\n"
    "table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; "
    "font-size: .9rem; }\n"
    "th, td { padding: .25rem .6rem; text-align: left; white-space: nowrap; "
    "border-bottom: 1px solid var(--line); }\n"
    "th { position: sticky; top: 0; background: var(--back); }\n"
    "th button { all: unset; cursor: pointer; font-weight: 600; }\n"
    "th button:focus-visible { outline: 2px solid var(--link); }\n"
    "th[aria-sort=ascending] button::after { content: ' \\2191'; }\n"
    "th[aria-sort=descending] button::after { content: ' \\2193'; }\n"
    "tbody tr:nth-child(even) { background: var(--stripe); }\n"
    ".wrong { color: var(--mark); font-weight: 600; }\n"
    "code { font-size: .9em; overflow-wrap: anywhere; }\n</style>\n</head>\n<body>\n"
    "<h1>tightlip: results</h1>\n"
    "<p>A value is <em>found</em>: a lower bound of the supremum; certified where arithmetic "
    "with error bounds has proved it. A bound is a theorem. The ratio is bound over value: 1 would "
    "be sharp. Click a "
    "heading to sort.</p>\n";

const char *const tl_report_tail =
    "<script>\n'use strict';\n"
    "const key = cell => { const v = cell.dataset.sort ?? cell.textContent; "
    "const x = v === 'inf' ? Infinity : parseFloat(v); return Number.isNaN(x) ? v : x; };\n"
    "const compare = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : "
    "String(a).localeCompare(String(b));\n"
    "for (const button of document.querySelectorAll('th button')) "
    "button.addEventListener('click', () => {\n"
    "  const head = button.parentElement, table = head.closest('table'), body = "
    "table.tBodies[0];\n"
    "  const up = head.getAttribute('aria-sort') !== 'ascending', column = head.cellIndex;\n"
    "  for (const other of table.querySelectorAll('th')) other.removeAttribute('aria-sort');\n"
    "  head.setAttribute('aria-sort', up ? 'ascending' : 'descending');\n"
    "  const rows = [...body.rows].sort((a, b) => (up ? 1 : -1) * "
    "compare(key(a.cells[column]), key(b.cells[column])));\n"
    "  body.append(...rows);\n});\n"
    /* A column without an entry, such as bounds where none was asked for, is left out. */
    "for (const table of document.querySelectorAll('table'))\n"
    "  [...table.rows[0].cells].forEach((head, i) => {\n"
    "    const cells = [...table.tBodies[0].rows].map(row => row.cells[i]);\n"
    "    if (cells.every(cell => !cell.textContent)) "
    "for (const cell of [head, ...cells]) cell.hidden = true;\n  });\n"
    "for (const link of document.querySelectorAll('a[data-witness]')) "
    "link.addEventListener('click', () => {\n"
    "  const all = JSON.parse(document.getElementById(link.dataset.witness).textContent);\n"
    "  link.href = URL.createObjectURL(new Blob([JSON.stringify(all[link.dataset.cell])], "
    "{ type: 'application/json' }));\n});\n"
    "</script>\n</body>\n</html>\n";

void tl_report_escape(tl_buffer *b, const char *text)
{
    for (; *text; text++) switch (*text) {
        case '&':
            tl_buffer_text(b, "&amp;");
            break;
        case '<':
            tl_buffer_text(b, "&lt;");
            break;
        case '>':
            tl_buffer_text(b, "&gt;");
            break;
        case '"':
            tl_buffer_text(b, "&quot;");
            break;
        default:
            tl_buffer_put(b, text, 1);
        }
}

/* One word of a shell; a leading '-' would be an option. */
static void put_word(tl_buffer *b, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+/-";

    if (text[0] == '-') tl_buffer_text(b, "./");
    if (text[0] && text[strspn(text, plain)] == '\0') {
        tl_report_escape(b, text);
        return;
    }
    tl_buffer_text(b, "'");
    for (; *text; text++) {
        const char one[] = {*text, '\0'};
        tl_report_escape(b, *text == '\'' ? "'\\''" : one);
    }
    tl_buffer_text(b, "'");
}

void tl_report_outro(tl_buffer *b, const json_t *manifest, bool shown)
{
    const char *name = tl_plot_text(manifest, "name"), *file = tl_plot_text(manifest, "file");

    tl_buffer_text(b, "<p class=\"soft\">");
    if (file[0]) {
        tl_buffer_text(b, "Again: <code>tightlip run ");
        put_word(b, file);
        tl_buffer_print(b, " --seed %lld</code>. ",
                        (long long)json_integer_value(json_object_get(manifest, "seed")));
    }
    if (shown) {
        tl_buffer_text(b, "One row: download its witness, <code>tightlip verify ");
        put_word(b, name);
        tl_buffer_text(b, "-CELL.json</code>. ");
    }
    tl_buffer_text(b, "Made by tightlip ");
    tl_report_escape(b, tl_plot_text(json_object_get(manifest, "build"), "version"));
    tl_buffer_text(b, ".</p>\n</section>\n");
}

void tl_report_svg(tl_buffer *b, const char *svg, size_t index)
{
    static const char *const marks[] = {"id=\"", "id='", "href=\"#", "href='#", "url(#"};
    const char *at = strstr(svg, "<svg");

    if (!at) return;
    tl_buffer_text(b, "<figure>");
    while (*at) {
        size_t i = 0, length = 0;
        for (; i < sizeof marks / sizeof *marks; i++) {
            length = strlen(marks[i]);
            if (strncmp(at, marks[i], length) == 0) break;
        }
        if (i < sizeof marks / sizeof *marks) {
            tl_buffer_put(b, at, length);
            tl_buffer_print(b, "p%zu-", index);
            at += length;
        } else {
            tl_buffer_put(b, at++, 1);
        }
    }
    tl_buffer_text(b, "</figure>\n");
}
