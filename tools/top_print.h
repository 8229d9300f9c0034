/* SPDX-License-Identifier: Apache-2.0 */
/* A report as text, to the byte as `pprof -top` prints it. */
#ifndef CPROF_TOOLS_TOP_PRINT_H
#define CPROF_TOOLS_TOP_PRINT_H

#include "tools/report.h"
#include "tools/select.h"

/* `profile` and `options` are what the report was made of, `select` what was chosen of the profile. */
void top_print(const ProfProfile *profile, const struct report *report, const struct report_options *options,
               const struct select *select);

#endif
