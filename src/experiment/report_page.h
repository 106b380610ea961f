/* The fixed parts of a report page. */
#ifndef EXPERIMENT_REPORT_PAGE_H
#define EXPERIMENT_REPORT_PAGE_H

#include <jansson.h>

#include "experiment/buffer.h"

/* Everything up to the first experiment, and after the last one. */
extern const char *const tl_report_head, *const tl_report_tail;
/* Text for the inside of an element or of a quoted attribute. */
void tl_report_escape(tl_buffer *b, const char *text);
/* How to run it again; `shown`: a witness of it can be downloaded. */
void tl_report_outro(tl_buffer *b, const json_t *manifest, bool shown);
/* The drawing alone, its identifiers told apart from those of other plots on the page. */
void tl_report_svg(tl_buffer *b, const char *svg, size_t index);

#endif
