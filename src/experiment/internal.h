/* What the parts of the experiment module share. */
#ifndef EXPERIMENT_INTERNAL_H
#define EXPERIMENT_INTERNAL_H

#include <jansson.h>
#include <libconfig.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/layer_spec.h"
#include "experiment/wishes.h"
#include "tightlip/exact.h"
#include "tightlip/experiment.h"
#include "tightlip/problem.h"

enum {
#define X(id, name, text) +1
    TL_NORM_COUNT = TL_NORM_LIST(X)
#undef X
};

enum { TL_CELLS_MAX = 1000000, TL_ITEMS_MAX = 100000000 };

/* Natural to decimal logarithms. */
#define TL_LN10 2.302585092994045684

/* ---- values and sweeps ---- */

typedef enum { TL_VALUE_INTEGER, TL_VALUE_REAL, TL_VALUE_TEXT } tl_value_kind;

struct tl_value {
    tl_value_kind kind;
    long long integer;
    double real; /* also set for integers */
    char *text;  /* owned; the value as ${name} shows it, for every kind */
};

typedef struct {
    char *name; /* owned */
    unsigned line;
    bool log; /* swept on a logarithmic range */
    size_t count;
    tl_value *value; /* owned */
} tl_variable;

typedef struct tl_model_cache tl_model_cache;

struct tl_experiment {
    char *model_directory; /* owned, or NULL: in place of attention.model.directory */
    tl_model_cache
        *networks;          /* owned, what cells share of networks; they are built one at a time */
    char *path, *directory; /* owned; directory ends in '/' or is empty */
    config_t tree;
    const char *name, *title, *question; /* borrowed from tree; title and question may be NULL */
    const config_setting_t *n, *attention, *tokens, *domain, *search; /* NULL where absent */
    tl_norm norm;
    size_t compared;
    tl_norm compare[TL_NORM_COUNT]; /* evaluated beside it, at the input of the record */
    tl_search_settings settings;
    size_t variables;
    tl_variable *variable; /* owned; the last one varies fastest */
    size_t cells;
    bool warm;    /* cells start from the witnesses of their neighbours too */
    bool certify; /* found values and bounds in ball arithmetic as well */
    tl_exact_wish exact;
    tl_invert_wish invert;
    tl_attack_wish attack;
    tl_network_wish network;
    size_t bounds;
    const tl_bound **bound; /* owned list of registry rows, then of conjectures */
    tl_bound *conjecture;   /* owned; texts belong to the tree; title is the formula */
    json_t *files;          /* data files read: path -> {bytes, fnv1a64} */
    json_t *resolved;       /* the whole configuration with every default in place */
    json_t *plot;           /* the plot group, resolved; borrowed from resolved */
};

/* The values of the variables in one cell. `used` (NULL outside load) notes which were asked for.
 */
struct tl_bindings {
    const tl_experiment *experiment;
    size_t cell;
    bool *used;
    json_t *files;                     /* data files read: path -> {bytes, fnv1a64} */
    const config_setting_t *attention; /* of the cell: set by tl_cell_build */
};

const tl_value *tl_bindings_find(const tl_bindings *b, const char *name);
/* TL_ERR_ARGUMENT with file and line of the sweep variable, what was expected and the value. */
TL_MUST_USE tl_status tl_bindings_fail(const tl_bindings *b, const char *variable,
                                       const tl_value *value, const char *what, tl_error *err);
const tl_value *tl_experiment_value(const tl_experiment *experiment, size_t cell, size_t variable);
/* "n = 4, R = 2", for messages; "" without a sweep. */
void tl_experiment_describe(const tl_experiment *experiment, size_t cell, char *text, size_t size);

TL_MUST_USE tl_status tl_sweep_read(tl_experiment *ex, const config_setting_t *sweep,
                                    tl_error *err);
void tl_variable_clear(tl_variable *variable);

/* ---- configuration access; messages carry path, line and setting ---- */

/* "path:line: attention.heads[0].Q: " + formatted text. */
tl_status tl_config_fail(const tl_experiment *ex, const config_setting_t *at, tl_error *err,
                         tl_status status, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Reads the file's text into ex->tree; refuses what libconfig would take wrongly. */
TL_MUST_USE tl_status tl_config_load(tl_experiment *ex, tl_error *err);
/* Errors: TL_ERR_PARSE naming the first integer that libconfig would wrap or cut, or an include. */
TL_MUST_USE tl_status tl_config_scan(const char *path, const char *text, tl_error *err);
/* What stands there, for "found ..." in messages. */
void tl_config_show(const config_setting_t *at, char *text, size_t size);
/* group is a group and has only these settings. */
TL_MUST_USE tl_status tl_config_keys(const tl_experiment *ex, const config_setting_t *group,
                                     const char *const *keys, size_t count, tl_error *err);
TL_MUST_USE tl_status tl_config_text(const tl_experiment *ex, const config_setting_t *at,
                                     const char **out, tl_error *err);
TL_MUST_USE tl_status tl_config_real(const tl_experiment *ex, const config_setting_t *at,
                                     double *out, tl_error *err);
TL_MUST_USE tl_status tl_config_integer(const tl_experiment *ex, const config_setting_t *at,
                                        long long low, long long high, long long *out,
                                        tl_error *err);
/* A member that may be absent: then out keeps its value. */
TL_MUST_USE tl_status tl_config_count(const tl_experiment *ex, const config_setting_t *group,
                                      const char *key, long long low, long long high, size_t *out,
                                      tl_error *err);
TL_MUST_USE tl_status tl_config_boolean(const tl_experiment *ex, const config_setting_t *at,
                                        bool *out, tl_error *err);
/* A member that must be there. */
TL_MUST_USE tl_status tl_config_require(const tl_experiment *ex, const config_setting_t *group,
                                        const char *key, const config_setting_t **out,
                                        tl_error *err);
/* An array or list of text, or one text: element i of tl_config_words_count. */
TL_MUST_USE tl_status tl_config_words_count(const tl_experiment *ex, const config_setting_t *at,
                                            size_t *count, tl_error *err);
const config_setting_t *tl_config_word_at(const config_setting_t *at, size_t i);
TL_MUST_USE tl_status tl_config_norm(const tl_experiment *ex, const config_setting_t *at,
                                     tl_norm *out, tl_error *err);
/* The tree as JSON. NULL when out of memory. */
json_t *tl_config_to_json(const config_setting_t *at);

/* Fails with "expected one of a, b, c, found "x"; did you mean "y"?". */
tl_status tl_config_unknown(const tl_experiment *ex, const config_setting_t *at, tl_error *err,
                            const char *what, const char *word, const char *const *names,
                            size_t count);

/* ---- settings of a cell: a sweep variable of that name wins over the file's setting ---- */

/* ${name} replaced by the cell's variables; *out is owned by the caller. */
TL_MUST_USE tl_status tl_bindings_expand(const tl_bindings *b, const config_setting_t *at,
                                         const char *text, char **out, tl_error *err);
/* variable may be NULL. *found tells whether either was there; out keeps its old value if not. */
TL_MUST_USE tl_status tl_bindings_real(const tl_bindings *b, const config_setting_t *group,
                                       const char *key, const char *variable, double *out,
                                       bool *found, tl_error *err);
TL_MUST_USE tl_status tl_bindings_integer(const tl_bindings *b, const config_setting_t *group,
                                          const char *key, const char *variable, long long low,
                                          long long high, long long *out, bool *found,
                                          tl_error *err);
TL_MUST_USE tl_status tl_bindings_text(const tl_bindings *b, const config_setting_t *group,
                                       const char *key, const char *variable, char **out,
                                       tl_error *err);
/* directory of the experiment + path; NULL when out of memory. Notes the file in b->files. */
char *tl_bindings_path(const tl_bindings *b, const char *path);

/* ---- cells ---- */
typedef struct {
    size_t index;
    struct tl_network_cell *network; /* owned; where it is there, nothing below is */
    tl_layer_spec attention;
    tl_measure *tokens;       /* owned, or NULL */
    json_t *tokens_reference; /* owned, or NULL: tl_tokens_reference */
    tl_domain *domain;        /* owned, or NULL */
    uint64_t n;               /* of the search or the enclosure; 0: infinite */
    double epsilon;           /* of an attack on a measure */
    double c, log_bound;      /* of the inversion: x + c F(x)/bound */
    bool star;                /* of L2 attention with a free head width: no layer, no tokens */
    bool searched;
    tl_search_problem problem; /* borrows from this cell */
    tl_search_settings settings;
} tl_cell;

TL_MUST_USE tl_status tl_cell_build(const tl_bindings *b, tl_cell **out, tl_error *err);
/* The domain of a cell whose attention and tokens are read. A setting snap moves tokens that lie at
 * most that many radii from the domain (stored in single precision, say) to the nearest point. */
TL_MUST_USE tl_status tl_domain_spec_read(const tl_bindings *b, tl_cell *cell, tl_error *err);
void tl_cell_free(tl_cell *cell);

/* Whether a group of attention is a star: those are found without the search. */
bool tl_has_star(const config_setting_t *attention);

/* ---- records ---- */
/* best: the search's result, or NULL for a cell that only evaluates its tokens. On failure the
 * caller writes tl_record_failure. *out is one line without its newline, owned by the caller.
 * *certify_seconds: how long the certificates took. */
TL_MUST_USE tl_status tl_record_make(const tl_experiment *ex, const tl_cell *cell,
                                     const tl_search_result *best, char **out,
                                     double *certify_seconds, tl_error *err);
char *tl_record_failure(const tl_experiment *ex, size_t cell, const char *why);
json_t *tl_record_variables(const tl_experiment *ex, size_t cell);
/* Sets key to the number, or to null where it is not finite. Nonzero when out of memory. */
int tl_json_set_number(json_t *object, const char *key, double x);
/* A list of rows, null where a number is not finite. NULL when out of memory. */
json_t *tl_json_rows(const double *x, size_t rows, size_t cols);
/* One compact line, numbers to 17 digits; owned by the caller. */
char *tl_json_line(const json_t *value);

/* name, title, question, paper, finding. */
TL_MUST_USE tl_status tl_prose_read(tl_experiment *ex, const config_setting_t *root, tl_error *err);

/* `compare`: norms beside the one of the experiment. */
TL_MUST_USE tl_status tl_compare_read(tl_experiment *ex, const config_setting_t *at, tl_error *err);
bool tl_compares(const tl_experiment *ex, tl_norm norm);
/* Their values at the input, as record.compare; nothing where none are wanted. */
TL_MUST_USE tl_status tl_compare_add(json_t *record, const tl_experiment *ex, const tl_layer *layer,
                                     const tl_measure *mu, tl_error *err);

/* `conjecture` of the file, after its bounds. */
TL_MUST_USE tl_status tl_conjectures_read(tl_experiment *ex, const config_setting_t *at,
                                          tl_error *err);
/* As tl_bound_evaluate; where it is not finite it does not apply, and says why. */
TL_MUST_USE tl_status tl_conjecture_value(const tl_bound *bound, const tl_bound_query *query,
                                          tl_bound_value *value, tl_error *err);

typedef struct {
    const char *key; /* of the registry; NULL: none applies */
    double log_value;
} tl_best_bound;

typedef struct {
    json_t *rows;                          /* "bounds" of the record, owned */
    tl_bound_value *value;                 /* of each row, owned */
    double norm_a;                         /* ||A|| of the first head, as the bounds were told */
    tl_best_bound best, proven, published; /* least of those that hold, of each provenance */
    bool violated;
} tl_bound_table;

TL_MUST_USE tl_status tl_bound_table_make(const tl_experiment *ex, const tl_cell *cell,
                                          const tl_layer *layer, const tl_measure *mu,
                                          double log_lower, tl_bound_table *out, tl_error *err);
/* The same of what is known without a layer or tokens. */
TL_MUST_USE tl_status tl_bound_table_of(const tl_experiment *ex, const tl_cell *cell,
                                        const tl_bound_query *query, double log_lower,
                                        tl_bound_table *out, tl_error *err);
void tl_bound_table_clear(tl_bound_table *table);
/* Rows of the bounds and the best of them. Nonzero when out of memory. */
int tl_record_set_bounds(json_t *record, const tl_bound_table *table, double log_found);

/* ---- certificates ---- */
/* Lower bound of the norm at the witness into `value`, an object with the number found: certified
 * (decimal, rounded down) and certified_log10, or certified_why. Nonzero when out of memory. */
int tl_certified_set_lower(json_t *value, const tl_problem *witness);
/* upper_certified (decimal, rounded up) of each of the record's bounds that applies; where none can
 * be certified, upper_certified_why of the record. Nonzero when out of memory. */
int tl_certified_set_bounds(json_t *record, const tl_experiment *ex, const tl_cell *cell,
                            const tl_problem *witness, const tl_bound_table *table);

/* ---- files of a results directory ---- */

/* directory/name; NULL when out of memory. */
char *tl_results_path(const char *directory, const char *name);
/* Fills ex->files: each data file with its size and hash. */
TL_MUST_USE tl_status tl_files_fingerprint(tl_experiment *ex, tl_error *err);
#define TL_MANIFEST_SCHEMA "tightlip/manifest/1"
/* A manifest of that schema, with name and config; *manifest is the caller's also when it fails.
 * Errors: TL_ERR_IO, TL_ERR_PARSE with path, expected and found. */
TL_MUST_USE tl_status tl_manifest_read(const char *path, json_t **manifest, tl_error *err);
json_t *tl_manifest_make(const tl_experiment *ex, uint64_t seed);
/* The text of manifest.json in that directory, which is there; shards 0: of a whole run. Owned by
 * the caller; NULL when out of memory. */
char *tl_manifest_text(const tl_experiment *ex, const char *directory, uint64_t seed, size_t shard,
                       size_t shards);

typedef struct {
    size_t failed, violated, undefined; /* cells; undefined: where a conjecture is not finite */
    /* The first of each, for a person. */
    char first_failure[512], first_violation[512], first_undefined[512];
} tl_run_summary;

/* Notes a cell without a value, a value above a bound, a conjecture that is not finite. */
void tl_csv_note(const tl_experiment *ex, const json_t *record, size_t cell,
                 tl_run_summary *summary);
/* data.csv from the text of cells.ndjson. *out owned by the caller. */
TL_MUST_USE tl_status tl_csv_make(const tl_experiment *ex, const char *records, char **out,
                                  tl_run_summary *summary, tl_error *err);

/* ---- the plot ---- */
/* Fills ex->resolved: the configuration with every default in place. */
TL_MUST_USE tl_status tl_resolve(tl_experiment *ex, tl_error *err);

TL_MUST_USE tl_status tl_plot_read(tl_experiment *ex, const config_setting_t *plot, tl_error *err);

#endif
