/* SPDX-License-Identifier: Apache-2.0 */
/* Where the profiles of a run are to go. */
#ifndef CPROF_TOOLS_RUN_OUTPUT_H
#define CPROF_TOOLS_RUN_OUTPUT_H

#include <limits.h>

/* From --output or CPROF_OUT, whose name is `option`, to the template that the library is given; for free(). It is
 * absolute: processes that the program starts in other directories put theirs beside the others, too. DIR/, or a
 * directory that is there, stands for the usual name in it; NULL or "" for the usual name. NULL, after a message, if
 * nothing could be written there: better to know that before a program has run for an hour than afterwards. */
char *run_output_template(const char *option, const char *output);

/* Why no profile can be written by this template as it stands: an errno, and in `place` what is in the way; 0 if one can.
 * The library makes no directories. */
int run_output_fault(const char *template, char place[PATH_MAX]);

/* The absolute names that a template can give, as a pattern for fnmatch and glob, to be freed; NULL without memory. */
char *run_output_pattern(const char *template);

#endif
