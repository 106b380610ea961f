#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

#include "cli/verify.h"
#include "tightlip/certify.h"
#include "tightlip/model.h"

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
    size_t differing; /* confirmed, but for what their records say */
    size_t tables;    /* that their records do not give */
    size_t unreadable, unwritten, skipped;
    json_t *array;               /* with --json */
    tl_model_networks *networks; /* kept from item to item */
} tally;

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
static void contradict(tally *t, const tl_cli_item *item, const tl_certificate *c, bool differs)
{
    tl_error why = {TL_OK, ""};
    char text[512];

    if (differs)
        complain(item->label, "the record holds numbers that its witness does not bear out");
    if (c->verdict == TL_VERDICT_REFUTES && tl_cli_verify_write(item, c, &why) != TL_OK) {
        t->unwritten++;
        complain(item->label, "a bound is refuted; its certificate cannot be written");
        complain(item->certificate, why.text[0] != '\0' ? why.text : tl_status_text(why.status));
    } else if (c->verdict == TL_VERDICT_REFUTES) {
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
}

/* A certificate that is not contradicted leaves the verdict to its record. */
static json_t *to_json(const tl_cli_item *item, const tl_certificate *c,
                       const tl_cli_findings *findings, bool differs)
{
    json_t *out = tl_certificate_to_json(c, item->label);

    if (!out || !item->record) return out;
    if ((differs && !tl_certificate_contradicts(c) &&
         json_object_set_new(out, "verdict", json_string("record differs"))) ||
        json_object_set(out, "differs", findings->differs) ||
        json_object_set_new(out, "bounds_skipped", json_integer((json_int_t)findings->skipped))) {
        json_decref(out);
        return NULL;
    }
    return out;
}

static void report(tally *t, const tl_cli_item *item, const tl_certificate *c,
                   const tl_cli_findings *findings)
{
    const bool differs = json_array_size(findings->differs) > 0;

    if (differs && !tl_certificate_contradicts(c))
        t->differing++;
    else
        t->verdict[c->verdict]++;
    t->skipped += findings->skipped;
    if (t->array != NULL) {
        tl_cli_json_append(&t->array, to_json(item, c, findings, differs));
    } else {
        if (!differs || tl_certificate_contradicts(c)) tl_cli_verify_print(item->label, c);
        if (differs) tl_cli_verify_print_differs(item->label, item->record, findings->differs);
    }
    contradict(t, item, c, differs);
}

/* only: the one item there is, whose failure is that of the call. */
static tl_status verify(tally *t, const tl_cli_item *item, const tl_certify_settings *settings,
                        bool only, tl_error *err)
{
    tl_certificate c = {.verdict = TL_VERDICT_UNDECIDED};
    tl_cli_findings findings = {.differs = NULL};
    tl_error why = {TL_OK, ""};
    const tl_status status = tl_cli_verify_item(item, settings, t->networks, &c, &findings, &why);

    if (status == TL_OK) {
        report(t, item, &c, &findings);
        tl_certificate_clear(&c);
    } else if (!only) {
        count_unreadable(t, item->label, status, &why);
    } else {
        *err = why;
    }
    json_decref(findings.differs);
    return only ? status : TL_OK;
}

static void verify_tables(tally *t, const char *directory)
{
    tl_error why = {TL_OK, ""};
    size_t differing = 0;
    tl_status status = tl_cli_verify_tables(directory, &t->array, &differing, &why);

    t->tables += differing;
    if (status == TL_OK) status = tl_cli_verify_conjectures(directory, &t->array, &why);
    if (status != TL_OK) count_unreadable(t, directory, status, &why);
}

static void print_tally(const tally *t, const tl_cli_items *items)
{
    fprintf(stderr, "%zu witnesses", items->count);
    for (int v = 0; v <= TL_VERDICT_UNDECIDED; v++)
        if (t->verdict[v] > 0)
            fprintf(stderr, ", %zu %s", t->verdict[v], tl_verdict_name((tl_verdict)v));
    if (t->differing > 0) fprintf(stderr, ", %zu whose record differs", t->differing);
    if (t->unreadable > 0) fprintf(stderr, ", %zu not verifiable", t->unreadable);
    if (items->bare > 0) fprintf(stderr, "; %zu records or files without a witness", items->bare);
    if (t->skipped > 0) fprintf(stderr, "; %zu bounds not computed again", t->skipped);
    if (t->tables > 0) fprintf(stderr, "; %zu tables differ from their records", t->tables);
    if (t->unwritten > 0) fprintf(stderr, "; %zu certificates not written", t->unwritten);
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
    if (status == TL_OK && items.count + items.tables == 0)
        status = tl_fail(err, TL_ERR_PARSE, "%s: holds no witness", call->operand[0]);
    for (size_t i = 0; i < items.count && status == TL_OK; i++) {
        status = verify(&t, &items.item[i], &settings, items.count == 1, err);
        tl_cli_item_release(&items.item[i]);
    }
    for (size_t i = 0; i < items.tables && status == TL_OK; i++) verify_tables(&t, items.table[i]);
    if (status == TL_OK && items.count != 1 && !call->json) print_tally(&t, &items);
    call->refuted = t.verdict[TL_VERDICT_REFUTES] + t.verdict[TL_VERDICT_BELOW] +
                        t.verdict[TL_VERDICT_OUTSIDE] + t.differing + t.tables >
                    0;
    if (status == TL_OK && call->json)
        status = tl_cli_json_print(t.array);
    else
        json_decref(t.array);
    if (status == TL_OK && !call->refuted && t.unreadable > 0)
        status =
            tl_fail(err, TL_ERR_IO, "%zu of %zu witnesses%s could not be verified", t.unreadable,
                    items.count + items.tables, items.tables > 0 ? " and tables" : "");
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
        "of cells.ndjson, with the found value, the bounds, conjectures by their formulas, other "
        "norms, attacks, inversions and the lower end of a supremum that it publishes (not what "
        "the witness does not carry: given tokens, that a supremum or a slope is the largest one), "
        "and data.csv and fit.csv, made again from the records; then what the records say of each "
        "conjecture: refuted where and by how much at most, or nowhere. Weights and tokens that it "
        "names by file are read from there and must not have changed. Of wide layers read by name "
        "at many tokens the product is not in balls but in pairs of doubles with a proven error; "
        "the line says so. One line each: confirmed, below claim, refutes KEY (with a certificate "
        "written beside the file: FILE.certificate.json), outside, record differs (cell, number, "
        "expected, found), table differs (line, column, expected, found), undecided. Exit code 3 "
        "when a claim, a record, a table or a bound is contradicted; a conjecture that falls is a "
        "result. Bounds marked refuted count only when named.",
    .option = options,
    .options = VERIFY_COUNT,
    .least = 1,
    .most = 4096,
    .run = run_verify,
};
