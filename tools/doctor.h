/* SPDX-License-Identifier: Apache-2.0 */
/* Tells people whether a program can be profiled here (explain.h), for `cprof doctor` and `cprof run --explain`. */
#ifndef CPROF_TOOLS_DOCTOR_H
#define CPROF_TOOLS_DOCTOR_H

/* Prints all there is to know of a program, or of the surroundings alone if it is NULL. Returns EXIT_OK or EXIT_FAULT.
 */
int doctor_examine(const char *program);

#endif
