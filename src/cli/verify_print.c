#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verify.h"
#include "tightlip/file.h"
#include "tightlip/version.h"

static void print_refuted(const tl_certificate *c)
{
    for (size_t i = 0; i < c->bounds; i++) {
        const tl_certified_bound *row = &c->bound[i];
        if (!row->counts || row->standing != TL_STANDS_EXCEEDED) continue;
        printf(", %s is at most %s", row->bound->key, row->value.high.text);
        if (row->outside_hypotheses) printf(" (outside its hypotheses)");
    }
}

void tl_cli_verify_print(const char *label, const tl_certificate *c)
{
    printf("%s: %s", label, tl_verdict_name(c->verdict));
    for (size_t i = 0; i < c->bounds && c->verdict == TL_VERDICT_REFUTES; i++)
        if (c->bound[i].counts && c->bound[i].standing == TL_STANDS_EXCEEDED)
            printf(" %s", c->bound[i].bound->key);
    if (c->verdict == TL_VERDICT_OUTSIDE) {
        printf(": tokens[%zu] lies %.3g outside the domain\n", c->outside, c->excess);
        return;
    }
    printf(": norm %s %s %s", tl_norm_name(c->norm), c->has_upper ? "from" : "at least",
           c->norm_at_x.low.text);
    if (c->has_upper) printf(" to %s", c->norm_at_x.high.text);
    if (c->pairs) printf(" (in pairs of doubles)");
    if (c->too_large) printf(" (too large for an upper end)");
    if (c->has_claim && isfinite(c->claim))
        printf(", claimed %.17g", c->claim);
    else if (c->has_claim)
        printf(", claimed 10^%.17g", c->claim_log10);
    print_refuted(c);
    if (c->verdict == TL_VERDICT_UNDECIDED) printf("; at %ld bits undecided: %s", c->bits, c->why);
    putchar('\n');
}

void tl_cli_verify_print_differs(const char *label, const json_t *record, const json_t *differs)
{
    const json_int_t cell = json_integer_value(json_object_get(record, "cell"));

    printf("%s: record differs: cell %" JSON_INTEGER_FORMAT, label, cell);
    for (size_t i = 0; i < json_array_size(differs); i++) {
        const json_t *one = json_array_get(differs, i);
        char *found =
            json_dumps(json_object_get(one, "found"), JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        printf("%s %s: expected %s, found %s", i > 0 ? ";" : ",",
               json_string_value(json_object_get(one, "at")),
               json_string_value(json_object_get(one, "expected")), found ? found : "more");
        free(found);
    }
    putchar('\n');
}

tl_status tl_cli_verify_write(const tl_cli_item *item, const tl_certificate *c, tl_error *err)
{
    json_t *document = json_pack("{s:s,s:s,s:s,s:o,s:O}", "schema", "tightlip/certificate/1",
                                 "version", tl_version(), "git", tl_git_id(), "certificate",
                                 tl_certificate_to_json(c, item->label), "problem", item->document);
    char *text = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    tl_status status = text != NULL ? TL_OK : TL_ERR_MEMORY;

    if (status == TL_OK) status = tl_file_write(item->certificate, text, strlen(text), err);
    free(text);
    json_decref(document);
    return status;
}
