/* Formulas of users through muParser's C interface. A parser lives for one call: parsing takes some
 * microseconds, and nothing is shared between threads. */
#include "tightlip/conjecture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef TL_WITH_MUPARSER
#include <muParserDLL.h>
#endif

#include "bounds/local.h"
#include "tightlip/linalg.h"
#include "tightlip/text.h"

#define X(id, name, text) name,
static const char *const names[] = {TL_CONJECTURE_VARIABLES(X)};
#undef X
#define X(id, name, text) text,
static const char *const texts[] = {TL_CONJECTURE_VARIABLES(X)};
#undef X

const char *tl_conjecture_variable_name(size_t i)
{
    return i < TL_CONJECTURE_COUNT ? names[i] : NULL;
}

const char *tl_conjecture_variable_text(size_t i)
{
    return i < TL_CONJECTURE_COUNT ? texts[i] : NULL;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static double largest(const tl_bound_query *query, double (*of)(const tl_head_facts *))
{
    double most = 0;

    for (size_t h = 0; h < query->heads; h++) most = fmax(most, of(&query->head[h]));
    return most;
}

static double norm_a(const tl_head_facts *head)
{
    return head->norm_a;
}

static double norm_v(const tl_head_facts *head)
{
    return head->norm_v;
}

static double rho(const tl_head_facts *head)
{
    return head->rho;
}

/* lmax of C_i = sum_l P_il xi_l xi_l': the square of the norm of the rows P_il^(1/2) xi_l. */
static tl_status spread_of_row(const tl_bounds_tokens *t, size_t i, double *rows, double *lmax)
{
    const size_t m = t->m, d = t->d;
    double *mean = rows + m * d, norm = 0;

    memset(mean, 0, d * sizeof *mean);
    for (size_t l = 0; l < m; l++) tl_axpy(d, exp(t->log_p[i * m + l]), t->shift + l * d, mean);
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < d; r++)
            rows[l * d + r] = exp(t->log_p[i * m + l] / 2) * (t->shift[l * d + r] - mean[r]);
    tl_status status = tl_norm2_dense(m, d, rows, &norm);
    *lmax = norm * norm;
    return status;
}

static void raise_to(double *most, double value)
{
    *most = fmax(*most, value);
}

/* Facts at the tokens of one head, maximised into facts. */
static tl_status head_at_tokens(const tl_bound_query *query, size_t h, tl_conjecture_facts *facts)
{
    const tl_measure *mu = query->measure;
    const size_t m = mu->m;
    double *value = facts->value, lmax = 0;
    double *rows = malloc((m + 1) * mu->d * sizeof *rows);
    tl_bounds_tokens t = {0};
    tl_status status = rows ? tl_bounds_tokens_init(&t, query->layer, h, mu) : TL_ERR_MEMORY;

    for (size_t l = 0; l < m && status == TL_OK; l++) {
        double column = 0;
        for (size_t k = 0; k < m; k++) {
            raise_to(&value[TL_CONJECTURE_WEIGHT], exp(t.log_p[k * m + l]));
            column += exp(t.log_p[k * m + l] + mu->log_mass[k] - mu->log_mass[l]);
        }
        raise_to(&value[TL_CONJECTURE_COLUMN], column);
        status = spread_of_row(&t, l, rows, &lmax);
        raise_to(&value[TL_CONJECTURE_LAMBDA], lmax);
    }
    tl_bounds_tokens_clear(&t);
    free(rows);
    return status;
}

static tl_status at_tokens(const tl_bound_query *query, tl_conjecture_facts *facts)
{
    tl_status status = TL_OK;

    facts->value[TL_CONJECTURE_LAMBDA] = 0;
    facts->value[TL_CONJECTURE_COLUMN] = facts->value[TL_CONJECTURE_WEIGHT] = 0;
    for (size_t h = 0; h < query->heads && status == TL_OK; h++)
        status = head_at_tokens(query, h, facts);
    return status;
}

tl_status tl_conjecture_facts_at(const tl_bound_query *query, tl_conjecture_facts *facts)
{
    double *value = facts->value;
    const bool tokens =
        query->layer && query->measure && query->kind == TL_KIND_DOT && query->mask == TL_MASK_NONE;

    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++) value[i] = (double)NAN;
    value[TL_CONJECTURE_N] = query->infinite ? (double)INFINITY : query->n;
    value[TL_CONJECTURE_NORM_A] = largest(query, norm_a);
    value[TL_CONJECTURE_NORM_V] = largest(query, norm_v);
    value[TL_CONJECTURE_NORM_O] = query->norm_o;
    value[TL_CONJECTURE_RADIUS] = query->radius;
    const double at_most = largest(query, rho);
    value[TL_CONJECTURE_G] = query->kind == TL_KIND_DOT
                                 ? at_most * query->radius
                                 : value[TL_CONJECTURE_NORM_A] * query->radius * query->radius;
    if (query->d > 0) value[TL_CONJECTURE_D] = (double)query->d;
    value[TL_CONJECTURE_HEADS] = value[TL_CONJECTURE_H] = (double)query->heads;
    if (query->layer)
        value[TL_CONJECTURE_WIDTH] = (double)query->layer->head[0].k;
    else if (query->head[0].width > 0)
        value[TL_CONJECTURE_WIDTH] = (double)query->head[0].width;
    if (query->measure) value[TL_CONJECTURE_ATOMS] = (double)query->measure->m;
    return tokens ? at_tokens(query, facts) : TL_OK;
}

/* ---- formulas -------------------------------------------------------------------------------- */

#ifdef TL_WITH_MUPARSER

typedef struct {
    muParserHandle_t parser;
    double value[TL_CONJECTURE_COUNT];
} formula;

/* muParser calls this instead of ending the program; mupError tells afterwards. */
static void ignore_error(muParserHandle_t parser)
{
    (void)parser;
}

static tl_status formula_init(formula *f, const char *text, tl_error *err)
{
    f->parser = mupCreate(muBASETYPE_FLOAT);
    if (!f->parser) return tl_fail(err, TL_ERR_MEMORY, "no memory for a formula");
    mupSetErrorHandler(f->parser, ignore_error);
    /* The decimal point whatever the locale says. */
    mupSetDecSep(f->parser, '.');
    mupSetArgSep(f->parser, ',');
    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++)
        mupDefineVar(f->parser, names[i], &f->value[i]);
    mupSetExpr(f->parser, text);
    return TL_OK;
}

/* What muParser found wrong, in one line. */
static tl_status explain(formula *f, const char *text, tl_error *err)
{
    const char *token = mupGetErrorToken(f->parser);
    const int at = mupGetErrorPos(f->parser) + 1, code = mupGetErrorCode(f->parser);
    char known[160] = "";

    if (code != 1) /* not an unassignable token: a matter of syntax */
        return tl_fail(err, TL_ERR_PARSE, "formula \"%s\": position %d: %s", text, at,
                       mupGetErrorMsg(f->parser));
    const char *nearest = tl_text_nearest(token, names, TL_CONJECTURE_COUNT);
    if (nearest) {
        snprintf(known, sizeof known, "did you mean '%s'?", nearest);
    } else {
        size_t used = (size_t)snprintf(known, sizeof known, "known are");
        for (size_t i = 0; i < TL_CONJECTURE_COUNT && used < sizeof known; i++)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s %s", i ? "," : "",
                                     names[i]);
    }
    return tl_fail(err, TL_ERR_PARSE, "formula \"%s\": position %d: unknown name '%s'; %s", text,
                   at, token, known);
}

/* "n = inf, g = 4" of the variables that occur. */
static void describe(formula *f, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    const int count = mupGetExprVarNum(f->parser);
    for (int i = 0; i < count && used < size; i++) {
        const char *name = NULL;
        double *value = NULL;
        mupGetExprVar(f->parser, (unsigned)i, &name, &value);
        if (!name || !value) break;
        char number[32] = "unknown";
        if (!isnan(*value)) snprintf(number, sizeof number, "%.12g", *value);
        used += (size_t)snprintf(out + used, size - used, "%s%s = %s", i ? ", " : "", name, number);
    }
}

tl_status tl_conjecture_evaluate(const char *text, const tl_conjecture_facts *facts,
                                 double *log_value, tl_error *err)
{
    formula f;
    tl_status status = formula_init(&f, text, err);

    if (status != TL_OK) return status;
    memcpy(f.value, facts->value, sizeof f.value);
    *log_value = mupEval(f.parser);
    if (mupError(f.parser)) {
        status = explain(&f, text, err);
    } else if (isnan(*log_value)) {
        char values[200];
        describe(&f, values, sizeof values);
        status = tl_fail(err, TL_ERR_NUMERIC, "formula \"%s\": not a number at %s", text,
                         values[0] ? values : "any values");
    }
    mupRelease(f.parser);
    return status;
}

tl_status tl_conjecture_check(const char *text, tl_error *err)
{
    tl_conjecture_facts facts;
    double value;

    /* Ones are in the domain of most functions; whether the value is a number is not asked here. */
    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++) facts.value[i] = 1;
    const tl_status status = tl_conjecture_evaluate(text, &facts, &value, err);
    return status == TL_ERR_NUMERIC ? TL_OK : status;
}

#else

tl_status tl_conjecture_evaluate(const char *text, const tl_conjecture_facts *facts,
                                 double *log_value, tl_error *err)
{
    (void)facts;
    *log_value = (double)NAN;
    return tl_conjecture_check(text, err);
}

tl_status tl_conjecture_check(const char *text, tl_error *err)
{
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "formula \"%s\": this build has no muParser: install libmuparser-dev and build "
                   "again",
                   text);
}

#endif
