/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in this environment, for `cprof doctor`: what the library says of them, and whether anything would come of
 * profiling with them. */
#ifndef CPROF_TOOLS_DOCTOR_SETTINGS_H
#define CPROF_TOOLS_DOCTOR_SETTINGS_H

#include "tools/explain.h"

#include <stdbool.h>

/* Why no profile would be had of the program (NULL: of any) with these settings: for people. False if nothing is in the
 * way. */
bool doctor_settings_obstacle(const struct explanation *program, char reason[EXPLAIN_REASON_MAX]);

/* Hands over the lines that the library prints when it reads these settings: it is loaded into `true` for that, and
 * does nothing else there. */
void doctor_settings_complaints(const char *library, void (*each)(const char *line));

#endif
