/* Random draws for property tests, biased to corners. */
#ifndef SUPPORT_DRAWS_H
#define SUPPORT_DRAWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

/* The stream of one property; the same in every run. */
gsl_rng *draw_stream(uint64_t property);
/* How many times more draws to make: 1, or 50 with TIGHTLIP_SOAK set. */
int draw_effort(void);
/* Under valgrind (TIGHTLIP_MEMCHECK is set): its long doubles have 53 bits, and a program that is
 * not there looks like one that exits with 127. */
bool under_memcheck(void);
/* How many draws to make of what are usually so many: 50 times as many with TIGHTLIP_SOAK set;
 * under memcheck, where each takes 40 times as long, a tenth, at least one. Not for tests that
 * judge what their draws reach. */
int draw_count(int usual);
/* The step through rows that each stand for themselves: 1; under memcheck `thinned`. */
size_t draw_stride(size_t thinned);
/* 0 .. most - 1 */
size_t draw_below(gsl_rng *rng, size_t most);
/* A matrix entry: mostly of order one, now and then 0, 1, -1, tiny or large. */
double draw_entry(gsl_rng *rng);

#endif
