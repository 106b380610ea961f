/* What bounds may use of a domain: the balls that hold it, and the input that it lies around. */
#include <float.h>
#include <math.h>

#include "bounds/internal.h"

tl_status tl_bound_query_domain(tl_bound_query *query, tl_head_facts *head, const tl_layer *layer,
                                const tl_measure *measure, const tl_domain *domain, tl_error *err)
{
    const bool ball = domain->kind == TL_DOMAIN_BALL;
    tl_status status = tl_domain_fits(domain, layer, err);

    if (status == TL_OK)
        status =
            tl_bound_query_init(query, head, layer, measure, domain->centre, domain->radius, err);
    if (status == TL_OK) query->domain = domain;
    /* Of a ball nothing is known beyond its radius; others may reach less far from the origin than
     * the ball about their centre. The margin covers the rounding of a stored token. */
    if (status == TL_OK && !ball)
        query->radius_origin =
            fmin(query->radius_origin,
                 domain->radius_origin * (1 + 4 * ((double)layer->d + 8) * DBL_EPSILON));
    return status;
}

/* Token by token, copies too; a Frobenius ball is of finitely many. */
static bool is_centre(const tl_measure *mu, const tl_measure *around)
{
    if (!mu || !mu->count || mu->m != around->m || mu->d != around->d) return false;
    for (size_t k = 0; k < mu->m; k++)
        if (mu->count[k] != around->count[k]) return false;
    for (size_t i = 0; i < mu->m * mu->d; i++)
        if (mu->x[i] < around->x[i] || mu->x[i] > around->x[i]) return false;
    return true;
}

tl_bound_query tl_bound_query_about(const tl_bound_query *query, const tl_bound *bound,
                                    const tl_domain *domain, bool any_a)
{
    const bool frobenius = domain && domain->around;
    tl_bound_query about = *query;

    if (frobenius && bound->whole_ball) about.measure = domain->around;
    if (frobenius && (bound->whole_ball || is_centre(query->measure, domain->around)))
        about.epsilon = domain->epsilon;
    /* Matrices of the A that was found say nothing of the other A; a conjecture may speak of the
     * witness. */
    if (any_a && !tl_bound_is_about_one_input(bound) &&
        bound->provenance != TL_PROVENANCE_CONJECTURE)
        about.layer = NULL;
    return about;
}
