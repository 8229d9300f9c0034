/* SPDX-License-Identifier: Apache-2.0 */
/* Where the profiles of a run are to go. */
#ifndef CPROF_TOOLS_RUN_OUTPUT_H
#define CPROF_TOOLS_RUN_OUTPUT_H

/* From --output or CPROF_OUT, whose name is `option`, to the template that the library is given; for free(). It is
 * absolute: processes that the program starts in other directories put theirs beside the others, too. DIR/, or a
 * directory that is there, stands for the usual name in it; NULL or "" for the usual name. NULL, after a message, if
 * nothing could be written there: better to know that before a program has run for an hour than afterwards. */
char *run_output_template(const char *option, const char *output);

#endif
