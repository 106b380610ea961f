/* Problems written in a line, and what certifying them says. */
#ifndef TIGHTLIP_TESTS_WITNESS_TEXT_H
#define TIGHTLIP_TESTS_WITNESS_TEXT_H

#include "tightlip/certify.h"

/* A problem from JSON with single quotes; tokens may lie outside the domain. */
void read_text(tl_problem *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Asserts success. settings may be NULL. */
tl_certificate certify(const tl_problem *problem, const tl_certify_settings *settings);
tl_verdict verdict(const tl_problem *problem);

#endif
