/* The ingredients rho_k and d_k of README Theorem 5.2 for one head, with their rounding. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/local.h"
#include "tightlip/linalg.h"

enum { EXPONENTS = 5 };
static const double exponents[EXPONENTS] = {0, 0.25, 0.5, 0.75, 1};

typedef struct {
    const tl_bounds_tokens *t;
    const double *log_mass;
    size_t r, p;      /* rows of the value space, columns of the key space */
    double *B;        /* r x d: value map over its Frobenius norm */
    double *BB;       /* r x r: B B' */
    double *y, *beta; /* m x r: B (x_j - x_0), B b_i */
    double *kap;      /* m x p: A'(x_j - x_0) in the row space of Q */
    double *eta, *kc; /* m x r, m x p: centred at the row's mean */
    double *P;        /* m: a row of attention */
    double *scaled;   /* m x max(r, p) */
    double *R;        /* r x max(r, p) */
    double *mean;     /* max(r, p) */
    double *log_h;    /* EXPONENTS x m */
    double *log_rho;  /* EXPONENTS x m */
    double *log_d;    /* m */
    double *log_e;    /* m x m */
    double *columns;  /* m */
    double map_error; /* relative to the Frobenius norm 1 of B */
    double y_error;   /* of every row of y - mean by rounding, and of kap */
    double kap_error;
    double *block;
} space;

/* Sums over one centred row. */
typedef struct {
    double eta1, eta2, kap1, kap2, cross; /* sum P |eta|, P |eta|^2, .., P |eta||kap| */
    double spread;                        /* relative error of P */
    double eta_error, kap_error;          /* with the error of the mean */
} row_sums;

tl_status tl_bounds_reduce_rows(size_t rows, size_t cols, const double *a, double *b)
{
    if (rows <= cols) {
        memcpy(b, a, rows * cols * sizeof *b);
        return TL_OK;
    }
    double *block = malloc((rows * cols + cols) * sizeof *block);
    if (!block) return TL_ERR_MEMORY;
    double *sigma = block + rows * cols;
    tl_status status = tl_svd_full(rows, cols, a, block, sigma, b);
    for (size_t i = 0; status == TL_OK && i < cols; i++)
        for (size_t j = 0; j < cols; j++) b[i * cols + j] *= sigma[i];
    free(block);
    return status;
}

static bool carve(space *s)
{
    const size_t m = s->t->m, d = s->t->d, r = s->r, p = s->p, w = r > p ? r : p;
    const size_t sizes[] = {r * d, r * r, m * r, m * r,         m * p,         m * r, m * p, m,
                            m * w, r * w, w,     EXPONENTS * m, EXPONENTS * m, m,     m * m, m};
    double **const arrays[] = {&s->B,       &s->BB,    &s->y,      &s->beta,   &s->kap,  &s->eta,
                               &s->kc,      &s->P,     &s->scaled, &s->R,      &s->mean, &s->log_h,
                               &s->log_rho, &s->log_d, &s->log_e,  &s->columns};
    size_t total = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) total += sizes[i];
    double *at = s->block = malloc(total * sizeof *at);
    if (!at) return false;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        *arrays[i] = at;
        at += sizes[i];
    }
    return true;
}

static tl_status set_value_space(space *s, const tl_bounds_value_map *value, double frobenius)
{
    const size_t m = s->t->m, d = s->t->d, r = s->r;
    tl_status status = tl_bounds_reduce_rows(value->rows, d, value->map, s->B);
    double reduction = value->rows > d ? 8 * (double)(value->rows + d) * DBL_EPSILON : 0;

    if (status != TL_OK) return status;
    for (size_t i = 0; i < r * d; i++) s->B[i] /= frobenius;
    s->map_error = value->error / frobenius + reduction + 2 * DBL_EPSILON;
    tl_gemm('N', 'T', r, r, d, 1, s->B, d, s->B, d, 0, s->BB, r);
    tl_gemm('N', 'T', m, r, d, 1, s->t->shift, d, s->B, d, 0, s->y, r);
    tl_gemm('N', 'T', m, r, d, 1, s->t->b, d, s->B, d, 0, s->beta, r);
    s->y_error = (4 * (double)(d + m + 8) * DBL_EPSILON + 2 * s->map_error) * s->t->reach;
    return TL_OK;
}

/* (x_j - x_0)'A = scale key_j'Q, and |z'Q| = |z'U S| for Q = U S W'. */
static tl_status set_key_space(space *s, const tl_head *head)
{
    const size_t m = s->t->m, d = s->t->d, k = s->t->k, p = s->p;
    double *u = malloc((k * p + p + p * d) * sizeof *u);
    if (!u) return TL_ERR_MEMORY;
    double *sigma = u + k * p;
    tl_status status = tl_svd_full(k, d, head->Q, u, sigma, sigma + p);
    if (status == TL_OK) {
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < p; j++) u[i * p + j] *= head->scale * sigma[j];
        tl_gemm('N', 'N', m, p, k, 1, s->t->key, k, u, p, 0, s->kap, p);
    }
    free(u);
    s->kap_error = 8 * (double)(d + k + m + 8) * DBL_EPSILON * s->t->scale *
                   tl_nrm2(k * d, head->Q) * s->t->key_norm * s->t->reach;
    return status;
}

/* h_l = (column sum of the attention)^(-exponent). */
static tl_status set_weights(space *s)
{
    const size_t m = s->t->m;

    for (size_t l = 0; l < m; l++) {
        for (size_t k = 0; k < m; k++)
            s->columns[k] = s->log_mass[k] - s->log_mass[l] + s->t->log_p[k * m + l];
        double log_column = tl_logsumexp(m, s->columns);
        if (isnan(log_column) || log_column == (double)INFINITY) return TL_ERR_NUMERIC;
        /* Nobody looks at l: any weight will do. */
        for (size_t e = 0; e < EXPONENTS; e++)
            s->log_h[e * m + l] = isinf(log_column) ? 0 : -exponents[e] * log_column;
    }
    return TL_OK;
}

/* out_j = in_j - sum_l P_l in_l. */
static void centre(const space *s, const double *in, size_t width, double *out)
{
    const size_t m = s->t->m;

    memset(s->mean, 0, width * sizeof *s->mean);
    for (size_t j = 0; j < m; j++) tl_axpy(width, s->P[j], in + j * width, s->mean);
    for (size_t j = 0; j < m; j++)
        for (size_t a = 0; a < width; a++) out[j * width + a] = in[j * width + a] - s->mean[a];
}

static row_sums centre_row(space *s, size_t i)
{
    const size_t m = s->t->m;
    row_sums q = {.spread = expm1(2 * s->t->slack[i])};
    double sum = 0;

    for (size_t j = 0; j < m; j++) sum += s->P[j] = exp(s->t->log_p[i * m + j]);
    for (size_t j = 0; j < m; j++) s->P[j] /= sum;
    centre(s, s->y, s->r, s->eta);
    centre(s, s->kap, s->p, s->kc);
    for (size_t j = 0; j < m; j++) {
        double a = tl_nrm2(s->r, s->eta + j * s->r), b = tl_nrm2(s->p, s->kc + j * s->p);
        q.eta1 += s->P[j] * a;
        q.eta2 += s->P[j] * a * a;
        q.kap1 += s->P[j] * b;
        q.kap2 += s->P[j] * b * b;
        q.cross += s->P[j] * a * b;
    }
    /* The true mean is off by at most sum |P - P_true| |eta|, eta itself by y_error. */
    q.eta_error = (1 + q.spread) * s->y_error + q.spread * q.eta1;
    q.kap_error = (1 + q.spread) * s->kap_error + q.spread * q.kap1;
    return q;
}

/* log of the squared norm of G C_i A, rounded up. */
static tl_status row_split(space *s, size_t i, const row_sums *q)
{
    const size_t m = s->t->m, r = s->r, p = s->p;
    double norm, size = (double)(m + 4 * (r + p) + 16);

    for (size_t j = 0; j < m; j++)
        for (size_t a = 0; a < p; a++) s->scaled[j * p + a] = s->P[j] * s->kc[j * p + a];
    tl_gemm('T', 'N', r, p, m, 1, s->eta, r, s->scaled, p, 0, s->R, p);
    tl_status status = tl_norm2_dense(r, p, s->R, &norm);
    if (status != TL_OK) return status;
    norm += (q->spread + 4 * size * DBL_EPSILON) * q->cross + q->eta_error * sqrt(q->kap2) +
            q->kap_error * sqrt(q->eta2) + q->eta_error * q->kap_error;
    s->log_d[i] = 2 * log(norm) + 64 * DBL_EPSILON;
    return TL_OK;
}

/* rho_i = norm of sum_j q_j (B + eta_j b')(B + eta_j b')', q_j = P_ij / h_j. */
static tl_status row_rho(space *s, size_t i, size_t e, const row_sums *sums, double *eigenvalues)
{
    const size_t m = s->t->m, r = s->r;
    const double b = s->t->b_norm[i], *beta = s->beta + i * r, *log_p = s->t->log_p + i * m;
    const double *log_h = s->log_h + e * m;
    double top = -(double)INFINITY, total = 0, trace = 0;

    for (size_t j = 0; j < m; j++) top = fmax(top, log_p[j] - log_h[j]);
    memset(s->mean, 0, r * sizeof *s->mean);
    for (size_t j = 0; j < m; j++) {
        double q = exp(log_p[j] - log_h[j] - top), root = sqrt(q);
        total += q;
        for (size_t a = 0; a < r; a++) {
            double x = s->eta[j * r + a];
            s->mean[a] += q * x;
            s->scaled[j * r + a] = root * x;
            trace += q * x * x;
        }
    }
    tl_gemm('T', 'N', r, r, m, b * b, s->scaled, r, s->scaled, r, 0, s->R, r);
    for (size_t a = 0; a < r; a++)
        for (size_t c = 0; c < r; c++)
            s->R[a * r + c] +=
                total * s->BB[a * r + c] + beta[a] * s->mean[c] + s->mean[a] * beta[c];
    tl_status status = tl_eigen_symmetric(r, s->R, eigenvalues, NULL);
    if (status != TL_OK) return status;
    double terms = total + b * b * trace; /* the cross term is at most this */
    double rounding = 8 * (double)(m + 4 * r + s->t->d + 16) * DBL_EPSILON * terms;
    double root = sqrt(fmax(eigenvalues[r - 1], 0) + rounding) +
                  sqrt(total) * (s->map_error + (b + s->t->b_error[i]) * sums->eta_error) +
                  sqrt(trace) * s->t->b_error[i];
    /* 2 slack for P inside rho, 2 for P beside it. */
    s->log_rho[e * m + i] =
        top + 2 * log(root) + 4 * s->t->slack[i] + 16 * DBL_EPSILON * (1 + fabs(top));
    return TL_OK;
}

static tl_status set_rows(space *s)
{
    tl_status status = TL_OK;
    double *eigenvalues = malloc(s->r * sizeof *eigenvalues);

    if (!eigenvalues) return TL_ERR_MEMORY;
    for (size_t i = 0; i < s->t->m && status == TL_OK; i++) {
        /* Nothing is known of weights whose logits are off by that much. */
        if (!(s->t->slack[i] <= 1)) {
            status = TL_ERR_NUMERIC;
            break;
        }
        row_sums sums = centre_row(s, i);
        status = row_split(s, i, &sums);
        for (size_t e = 0; e < EXPONENTS && status == TL_OK; e++)
            status = row_rho(s, i, e, &sums, eigenvalues);
    }
    free(eigenvalues);
    return status;
}

/* The exponent with the smallest largest column wins. */
static tl_status set_columns(space *s, double log_frobenius, double *columns)
{
    const size_t m = s->t->m;
    double least = (double)INFINITY;

    for (size_t l = 0; l < m; l++) columns[l] = least;
    for (size_t e = 0; e < EXPONENTS; e++) {
        double largest = -(double)INFINITY;
        for (size_t k = 0; k < m; k++)
            for (size_t l = 0; l < m; l++) {
                double p = s->t->log_p[k * m + l], h = s->log_h[e * m + l];
                double rho = s->log_rho[e * m + k], a = s->log_mass[k], b = s->log_mass[l];
                double size = fabs(p) + fabs(h) + fabs(rho) + fabs(a) + fabs(b);
                s->log_e[k * m + l] = isinf(p) ? p : a - b + p + h + rho + 8 * DBL_EPSILON * size;
                if (isnan(s->log_e[k * m + l])) return TL_ERR_NUMERIC;
            }
        tl_status status = tl_bounds_columns(m, s->log_e, s->log_d, s->columns);
        if (status != TL_OK) return status;
        for (size_t l = 0; l < m; l++) largest = fmax(largest, s->columns[l]);
        if (!(largest < least)) continue;
        least = largest;
        for (size_t l = 0; l < m; l++) columns[l] = s->columns[l] + 2 * log_frobenius;
    }
    return TL_OK;
}

tl_status tl_bounds_head_columns(const tl_bounds_tokens *t, const tl_head *head,
                                 const double *log_mass, const tl_bounds_value_map *value,
                                 double *columns)
{
    const size_t d = t->d;
    space s = {.t = t,
               .log_mass = log_mass,
               .r = value->rows < d ? value->rows : d,
               .p = t->k < d ? t->k : d};
    double frobenius = tl_nrm2(value->rows * d, value->map) + value->error;

    for (size_t l = 0; l < t->m; l++) columns[l] = -(double)INFINITY;
    if (frobenius == 0) return TL_OK;
    if (!carve(&s)) return TL_ERR_MEMORY;
    tl_status status = set_value_space(&s, value, frobenius);
    if (status == TL_OK) status = set_key_space(&s, head);
    if (status == TL_OK) status = set_weights(&s);
    if (status == TL_OK) status = set_rows(&s);
    if (status == TL_OK) status = set_columns(&s, log(frobenius), columns);
    free(s.block);
    return status;
}
