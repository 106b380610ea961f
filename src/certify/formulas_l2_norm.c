/* l2-2, its forms and l2-ball in ball arithmetic. Statements: src/bounds/README.md section 17. */
#include "certify/l2_norm.h"

static void over_everything(arb_t value, const tl_certify_facts *f, size_t k, const arb_t norm_u)
{
    (void)norm_u;
    arb_pos_inf(value);
    tl_certify_l2_norm(value, f->n, k, NULL, f->prec);
}

void tl_certify_l2_2(arb_t value, const tl_certify_facts *f)
{
    tl_certify_l2_combine(value, f, over_everything, true);
}

/* lmax(C_i) <= (||U|| R)^2; over measures at any n. */
static void over_ball(arb_t value, const tl_certify_facts *f, size_t k, const arb_t norm_u)
{
    arb_t l;

    tl_certify_l2_over_measures(value, f, k, norm_u);
    if (f->infinite) return;
    arb_init(l);
    arb_mul(l, norm_u, f->radius, f->prec);
    arb_sqr(l, l, f->prec);
    tl_certify_l2_norm(value, f->n, k, l, f->prec);
    arb_clear(l);
}

void tl_certify_l2_ball(arb_t value, const tl_certify_facts *f)
{
    tl_certify_l2_combine(value, f, over_ball, true);
}

static void of_form(arb_t value, const tl_certify_facts *f, size_t k, tl_certify_l2_form *form)
{
    tl_certify_l2_size size;

    if (fmpz_is_one(f->n)) {
        arb_one(value);
        return;
    }
    tl_certify_l2_size_init(&size, f->n, k, NULL, f->prec);
    form(value, &size);
    tl_certify_l2_size_clear(&size);
}

#define FORM(letter)                                                            \
    static void head_##letter(arb_t value, const tl_certify_facts *f, size_t k, \
                              const arb_t norm_u)                               \
    {                                                                           \
        (void)norm_u;                                                           \
        of_form(value, f, k, tl_certify_l2_form_##letter);                      \
    }                                                                           \
    void tl_certify_l2_only_##letter(arb_t value, const tl_certify_facts *f)    \
    {                                                                           \
        tl_certify_l2_combine(value, f, head_##letter, true);                   \
    }

FORM(a)
FORM(b)
FORM(c)
FORM(d)
