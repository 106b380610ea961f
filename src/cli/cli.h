/* The command line: shared by main.c and the files of the verbs. stdout is data, stderr is talk. */
#ifndef TIGHTLIP_CLI_H
#define TIGHTLIP_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "tightlip/bounds.h"
#include "tightlip/domain.h"
#include "tightlip/status.h"

/* What an option's argument may be. Numbers are parsed as a whole, never NaN, never hexadecimal. */
typedef enum {
    CLI_FLAG,        /* no argument */
    CLI_TEXT,        /* any text that is not empty */
    CLI_POSITIVE,    /* a finite number > 0 */
    CLI_RADIUS,      /* the same, or "inf" */
    CLI_NONNEGATIVE, /* a finite number >= 0 */
    CLI_COUNT,       /* an integer in low..high; 1e12 and 1000000000000 are the same */
    CLI_TOKENS,      /* the same, or "inf", stored as 0 */
    CLI_CHOICE,      /* one of words; stored as its index */
    CLI_SET          /* some of words, separated by commas, or "all"; stored as bits */
} tl_cli_type;

/* One row of a verb's option table: it drives getopt_long, the checks, defaults and --help. */
typedef struct {
    const char *name; /* long name, without dashes */
    char letter;      /* short name, or 0 */
    tl_cli_type type;
    const char *argument;     /* how --help calls the argument */
    const char *fallback;     /* default as a user would write it, or NULL: none */
    uint64_t low, high;       /* CLI_COUNT and CLI_TOKENS */
    const char *const *words; /* CLI_CHOICE and CLI_SET: ends with NULL */
    const char *text;
} tl_cli_option;

/* Row of an X-macro option table -> row of tl_cli_option. */
#define CLI_OPTION_ROW(id, name, letter, type, argument, fallback, low, high, words, text) \
    {name, letter, CLI_##type, argument, fallback, low, high, words, text},

typedef struct {
    bool given; /* by the user; otherwise the default stands here, if there is one */
    const char *text;
    double real;
    uint64_t count;
} tl_cli_value;

enum { CLI_MAX_OPTIONS = 24 };

typedef struct {
    tl_cli_value value[CLI_MAX_OPTIONS]; /* in the order of the verb's table */
    bool json, help;
    int operands;
    char **operand;
    bool refuted; /* set by a verb: a found value lies above a bound */
} tl_cli_call;

typedef struct {
    const char *name, *operands, *summary, *details;
    const tl_cli_option *option;
    size_t options;
    int least, most; /* number of operands */
    tl_status (*run)(tl_cli_call *call, tl_error *err);
} tl_cli_verb;

#define CLI_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* verbs.c: the table of verbs; a wrong name is TL_ERR_ARGUMENT with the nearest one. */
extern const tl_cli_verb tl_cli_verb_run, tl_cli_verb_search, tl_cli_verb_norm, tl_cli_verb_bound,
    tl_cli_verb_verify, tl_cli_verb_exact, tl_cli_verb_attack, tl_cli_verb_certify,
    tl_cli_verb_plot, tl_cli_verb_list, tl_cli_verb_help, tl_cli_verb_version, tl_cli_verb_doctor,
    tl_cli_verb_weights, tl_cli_verb_report, tl_cli_verb_merge, tl_cli_verb_layers;
size_t tl_cli_verb_count(void);
const tl_cli_verb *tl_cli_verb_at(size_t i);
TL_MUST_USE tl_status tl_cli_verb_find(const char *name, const tl_cli_verb **verb, tl_error *err);

/* options.c: argv[0] is the verb. Options are checked here; abbreviations are refused. */
TL_MUST_USE tl_status tl_cli_parse(const tl_cli_verb *verb, int argc, char **argv,
                                   tl_cli_call *call, tl_error *err);
/* The verb's own options, then those of every verb; NULL past the end. */
const tl_cli_option *tl_cli_option_at(const tl_cli_verb *verb, size_t i);

/* number.c: the whole text or nothing; false when it is no such number. */
bool tl_cli_parse_real(const char *text, double *x);
bool tl_cli_parse_count(const char *text, uint64_t *n);
/* "0.1,1,10": at most `most` positive numbers, rising. */
TL_MUST_USE tl_status tl_cli_parse_rising(const char *option, const char *text, double *out,
                                          size_t most, size_t *count, tl_error *err);

/* help.c */
/* Columns of a line: those of the terminal that stdout is, or else of COLUMNS, within 60 to 120; 96
 * where neither says. */
int tl_cli_line_width(void);
/* Words of text from the current column on, wrapped, each new line indented to `indent`. */
void tl_cli_print_wrapped(FILE *out, const char *text, int column, int indent);
void tl_cli_print_usage(FILE *out);
void tl_cli_print_help(FILE *out, const tl_cli_verb *verb);

/* common.c */
void tl_cli_setup(void);
/* The one place that maps a status to an exit code: 0 done, 1 failed, 2 usage, 3 refuted. */
int tl_cli_exit_code(tl_status status, bool refuted);
/* Says what failed, flushes stdout and returns the exit code. */
int tl_cli_finish(const char *verb, tl_status status, bool refuted, const tl_error *err);
TL_MUST_USE tl_status tl_cli_unknown(tl_error *err, const char *what, const char *found,
                                     const char *const *words, size_t count);

/* writable.c: before work whose result goes to path: TL_ERR_IO where it could not be written there.
 * NULL: it goes nowhere. */
TL_MUST_USE tl_status tl_cli_check_writable(const char *path, tl_error *err);

/* A number known by its natural logarithm, for people: "113.6", "0", "10^1234.57". */
enum { CLI_NUMBER_SIZE = 40 };
const char *tl_cli_format_log(char text[CLI_NUMBER_SIZE], double log_value);
const char *tl_cli_format_tokens(char text[CLI_NUMBER_SIZE], uint64_t n);

/* json.c: NaN and infinity become null; NULL only when out of memory. */
json_t *tl_cli_json_real(double x);
json_t *tl_cli_json_value(double log_value);
json_t *tl_cli_json_log10(double log_value);
json_t *tl_cli_json_tokens(uint64_t n);
json_t *tl_cli_json_reals(const double *x, size_t count);
json_t *tl_cli_json_rows(const double *x, size_t rows, size_t cols);
json_t *tl_cli_json_domain(const tl_domain *domain, const char *from);
/* Appends item (stolen) to *array; on failure *array becomes NULL. */
void tl_cli_json_append(json_t **array, json_t *item);
/* Prints and releases document; NULL means that building it ran out of memory. */
TL_MUST_USE tl_status tl_cli_json_print(json_t *document);

/* bounds.c: every bound of the registry at one query, and perhaps a conjecture; the last row has no
 * bound. */
typedef struct {
    const tl_bound *bound;
    tl_bound_value value;
} tl_cli_bound_row;

/* conjecture: a bound whose title is its formula, or NULL; borrowed by the rows. */
TL_MUST_USE tl_status tl_cli_bounds_alloc(tl_cli_bound_row **rows, const tl_bound_query *query,
                                          const tl_bound *conjecture, tl_error *err);
/* The same for a layer and a measure whose tokens lie in domain. */
TL_MUST_USE tl_status tl_cli_bounds_at(tl_cli_bound_row **rows, const tl_layer *layer,
                                       const tl_measure *measure, const tl_domain *domain,
                                       const tl_bound *conjecture, tl_error *err);
/* The bound of --conjecture in that norm; formula NULL: none, the result says so. */
typedef struct {
    bool given;
    tl_bound bound;
} tl_cli_conjecture;
TL_MUST_USE tl_status tl_cli_conjecture_read(tl_cli_conjecture *out, const char *formula,
                                             tl_norm norm, tl_error *err);
/* found: a value in `norm`, or NULL: bounds alone, without ratios. */
typedef struct {
    tl_norm norm;
    double log_value;
} tl_cli_found;

void tl_cli_bounds_print(FILE *out, const tl_cli_bound_row *rows, const tl_cli_found *found);
/* The same with titles and sources, for people and as a Markdown table. */
void tl_cli_bounds_print_long(FILE *out, const tl_cli_bound_row *rows);
void tl_cli_bounds_print_markdown(FILE *out, const tl_cli_bound_row *rows);
json_t *tl_cli_bounds_json(const tl_cli_bound_row *rows, const tl_cli_found *found);
/* True when found lies above a bound that is published or proven; says so on stderr. */
bool tl_cli_bounds_refuted(const tl_cli_bound_row *rows, const tl_cli_found *found);

/* measure.c: a measure and its layer for people. */
void tl_cli_print_setting(FILE *out, const tl_layer *layer, const tl_measure *measure,
                          const tl_domain *domain, const char *from);
void tl_cli_print_atoms(FILE *out, const tl_measure *measure);
json_t *tl_cli_json_atoms(const tl_measure *measure);

/* interrupt.c */
enum { CLI_FAREWELL_SIZE = 9000 };
/* From now on SIGINT and SIGTERM set the returned number, and end the program after that time with
 * text on stderr and exit code 1, whatever it does then; 0 milliseconds: it takes its time. A
 * second signal ends it at once. */
const volatile int *tl_cli_interrupts_catch(const char *text, long milliseconds);

#endif
