#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verify.h"
#include "tightlip/certify.h"
#include "tightlip/file.h"
#include "tightlip/model.h"
#include "tightlip/version.h"

#define VERIFY_OPTIONS(X)                                                                       \
    X(AGAINST, "against", 0, TEXT, "KEY", NULL, 0, 0, NULL,                                     \
      "this bound counts whatever its provenance, and is evaluated where its mask hypothesis "  \
      "fails")                                                                                  \
    X(ENCLOSE, "enclose", 0, FLAG, NULL, NULL, 0, 0, NULL,                                      \
      "an upper end for norm 2 as well, by a Cholesky certificate (up to 512 rows or columns)") \
    X(BITS, "bits", 0, COUNT, "N", "4096", 128, 65536, NULL, "largest precision that is tried") \
    X(SLACK, "slack", 0, POSITIVE, "S", "1e-10", 0, 0, NULL,                                    \
      "a claimed value c counts as reached from c (1 - S) on: what double precision leaves open")

enum {
#define X(id, ...) VERIFY_##id,
    VERIFY_OPTIONS(X) VERIFY_COUNT
#undef X
};

static const tl_cli_option options[VERIFY_COUNT] = {VERIFY_OPTIONS(CLI_OPTION_ROW)};

/* How the items came out. */
typedef struct {
    size_t verdict[TL_VERDICT_UNDECIDED + 1];
    size_t unreadable;
    json_t *array;               /* with --json */
    tl_model_networks *networks; /* kept from item to item */
} tally;

static void print_refuted(const tl_certificate *c)
{
    for (size_t i = 0; i < c->bounds; i++) {
        const tl_certified_bound *row = &c->bound[i];
        if (!row->counts || row->standing != TL_STANDS_EXCEEDED) continue;
        printf(", %s is at most %s", row->bound->key, row->value.high.text);
        if (row->outside_hypotheses) printf(" (outside its hypotheses)");
    }
}

static void print_line(const char *label, const tl_certificate *c)
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

/* Writes the certificate of a refutation beside its file, whole or not at all. */
static tl_status write_certificate(const tl_cli_item *item, const tl_certificate *c, tl_error *err)
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

/* `what` when it names the file already, else "FILE: what". */
static void complain(const char *label, const char *what)
{
    bool named = strncmp(what, label, strlen(label)) == 0;

    fprintf(stderr, "tightlip verify: %s%s%s\n", named ? "" : label, named ? "" : ": ", what);
}

/* One of several that cannot be verified: the others go on. */
static void count_unreadable(tally *t, const char *label, tl_status status, const tl_error *why)
{
    const char *text = why->text[0] != '\0' ? why->text : tl_status_text(status);

    t->unreadable++;
    complain(label, text);
    if (t->array != NULL)
        tl_cli_json_append(&t->array, json_pack("{s:s,s:s,s:s,s:n,s:[]}", "file", label, "verdict",
                                                "unreadable", "why", text, "lower", "bounds"));
}

/* What stderr says beside exit code 3. */
static tl_status contradict(const tl_cli_item *item, const tl_certificate *c, tl_error *err)
{
    char text[512];

    if (c->verdict == TL_VERDICT_REFUTES) {
        const tl_status status = write_certificate(item, c, err);
        if (status != TL_OK) return status;
        (void)snprintf(text, sizeof text, "a bound is refuted; the certificate is %s",
                       item->certificate);
        complain(item->label, text);
    } else if (c->verdict == TL_VERDICT_BELOW) {
        complain(item->label, "the claimed value is not reached");
    } else if (c->verdict == TL_VERDICT_OUTSIDE) {
        (void)snprintf(text, sizeof text, "tokens[%zu] lies %.3g outside the domain", c->outside,
                       c->excess);
        complain(item->label, text);
    }
    return TL_OK;
}

static bool is_wide(const tl_layer *layer)
{
    return layer->d * layer->values > 32768;
}

/* Tokens times numbers of the value matrices from which on balls take more than a second. */
enum { LONG_IN_BALLS = 10000000 };

static bool is_long(const tl_problem *problem)
{
    return problem->measure->m * problem->layer->d * problem->layer->values > LONG_IN_BALLS;
}

static tl_status certify_problem(const tl_cli_item *item, const tl_certify_settings *settings,
                                 tl_model_networks *networks, tl_certificate *c, tl_error *why)
{
    tl_problem problem = {0};
    tl_certify_settings asked = *settings;
    bool referred = false;
    tl_status status = tl_cli_item_read(item, networks, &problem, &referred, why);

    if (status == TL_OK) {
        /* Trained layers are too wide for what costs more than a product with the direction, and of
         * the widest even the norms of their matrices cost minutes. */
        asked.enclose = settings->enclose && !referred;
        asked.lower_only = referred;
        asked.norm_only = referred && is_wide(problem.layer);
        asked.pairs = asked.norm_only && is_long(&problem);
        status = tl_certify_problem(&problem, &asked, c, why);
        if (status != TL_OK) tl_error_prefix(why, "%s", item->label);
    }
    tl_problem_clear(&problem);
    return status;
}

static tl_status certify_star(const tl_cli_item *item, const tl_certify_settings *settings,
                              tl_certificate *c, tl_error *why)
{
    tl_certified_star star;
    const tl_status status = tl_certified_star_read(item->document, item->label, &star, why);

    return status == TL_OK ? tl_certify_star(&star, settings, c, why) : status;
}

/* only: the one item there is, whose failure is that of the call. */
static tl_status verify(tally *t, const tl_cli_item *item, const tl_certify_settings *settings,
                        bool only, tl_error *err)
{
    tl_certificate c = {.verdict = TL_VERDICT_UNDECIDED};
    tl_error why = item->error;
    tl_status status = item->document != NULL ? TL_OK : item->error.status;

    if (status == TL_OK)
        status = tl_certified_star_is(item->document)
                     ? certify_star(item, settings, &c, &why)
                     : certify_problem(item, settings, t->networks, &c, &why);
    if (status != TL_OK && only) {
        *err = why;
        return status;
    }
    if (status != TL_OK) {
        count_unreadable(t, item->label, status, &why);
        return TL_OK;
    }
    t->verdict[c.verdict]++;
    if (t->array != NULL)
        tl_cli_json_append(&t->array, tl_certificate_to_json(&c, item->label));
    else
        print_line(item->label, &c);
    status = contradict(item, &c, err);
    tl_certificate_clear(&c);
    return status;
}

static void print_tally(const tally *t, const tl_cli_items *items)
{
    fprintf(stderr, "%zu witnesses", items->count);
    for (int v = 0; v <= TL_VERDICT_UNDECIDED; v++)
        if (t->verdict[v] > 0)
            fprintf(stderr, ", %zu %s", t->verdict[v], tl_verdict_name((tl_verdict)v));
    if (t->unreadable > 0) fprintf(stderr, ", %zu not verifiable", t->unreadable);
    if (items->bare > 0) fprintf(stderr, "; %zu records or files without a witness", items->bare);
    fputc('\n', stderr);
}

static tl_status check_key(const char *key, tl_error *err)
{
    const char *names[64];
    size_t count = 0;

    if (key == NULL || tl_bound_find(key) != NULL) return TL_OK;
    for (; count < tl_bound_count() && count < CLI_COUNT_OF(names); count++)
        names[count] = tl_bound_at(count)->key;
    return tl_cli_unknown(err, "bound", key, names, count);
}

static tl_status run_verify(tl_cli_call *call, tl_error *err)
{
    const tl_certify_settings settings = {.boxes = true,
                                          .against = call->value[VERIFY_AGAINST].text,
                                          .enclose = call->value[VERIFY_ENCLOSE].given,
                                          .most_bits = (long)call->value[VERIFY_BITS].count,
                                          .slack = call->value[VERIFY_SLACK].real};
    tl_cli_items items = {0};
    tally t = {.array = call->json ? json_array() : NULL, .networks = tl_model_networks_alloc()};
    tl_status status = check_key(settings.against, err);

    if (status == TL_OK && !(settings.slack < 1))
        status = tl_fail(err, TL_ERR_ARGUMENT, "--slack: expected a number below 1, found '%s'",
                         call->value[VERIFY_SLACK].text);

    for (int i = 0; i < call->operands && status == TL_OK; i++)
        status = tl_cli_items_add(&items, call->operand[i], err);
    if (status == TL_OK && items.count == 0)
        status = tl_fail(err, TL_ERR_PARSE, "%s: holds no witness", call->operand[0]);
    for (size_t i = 0; i < items.count && status == TL_OK; i++) {
        status = verify(&t, &items.item[i], &settings, items.count == 1, err);
        tl_cli_item_release(&items.item[i]);
    }
    if (status == TL_OK && items.count > 1 && !call->json) print_tally(&t, &items);
    call->refuted = t.verdict[TL_VERDICT_REFUTES] + t.verdict[TL_VERDICT_BELOW] +
                        t.verdict[TL_VERDICT_OUTSIDE] >
                    0;
    if (status == TL_OK && call->json)
        status = tl_cli_json_print(t.array);
    else
        json_decref(t.array);
    if (status == TL_OK && !call->refuted && t.unreadable > 0)
        status = tl_fail(err, TL_ERR_IO, "%zu of %zu witnesses could not be verified", t.unreadable,
                         items.count);
    if (status == TL_OK && !call->refuted && t.verdict[TL_VERDICT_UNDECIDED] > 0)
        status =
            tl_fail(err, TL_ERR_LIMIT, "%zu of %zu witnesses undecided at %" PRIu64 " bits",
                    t.verdict[TL_VERDICT_UNDECIDED], items.count, call->value[VERIFY_BITS].count);
    tl_cli_items_clear(&items);
    tl_model_networks_free(t.networks);
    tl_certify_cleanup();
    return status;
}

const tl_cli_verb tl_cli_verb_verify = {
    .name = "verify",
    .operands = "FILE|DIR ..",
    .summary = "rechecks witnesses in ball arithmetic against their claims and the bounds",
    .details =
        "Takes the numbers of a witness file (tokens, or four numbers of a star) as exact, checks "
        "that its tokens lie in the domain, and proves a lower bound of the norm, with an "
        "enclosure of every bound beside it. Of a directory, every witness file and every record "
        "of cells.ndjson; weights and tokens that it names by file are read from there and must "
        "not have changed. Of wide layers read by name at many tokens the product is not in balls "
        "but in pairs of doubles with a proven error; the line says so. One line each: confirmed, "
        "below claim, refutes KEY (with a certificate "
        "written beside the file: FILE.certificate.json), outside, undecided. Exit code 3 when a "
        "claim or a bound is contradicted. Bounds marked refuted count only when named.",
    .option = options,
    .options = VERIFY_COUNT,
    .least = 1,
    .most = 4096,
    .run = run_verify,
};
