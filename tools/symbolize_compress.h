/* SPDX-License-Identifier: Apache-2.0 */
/* A bound on what the sections of one file may be inflated to.
 *
 * Why: four megabytes can be four gigabytes of debug information, and a program that ends, or a server, would have to
 * bear that for a file that it has no more to do with than that it was mapped. */
#ifndef CPROF_TOOLS_SYMBOLIZE_COMPRESS_H
#define CPROF_TOOLS_SYMBOLIZE_COMPRESS_H

#include <stdbool.h>
#include <stdint.h>

#define COMPRESS_INFLATED_MAX (UINT64_C(1) << 30)

/* From now on it is about another file, with its debug files. */
void compress_begin(void);

/* Whether libelf was kept from inflating something since then. */
bool compress_refused(void);

#endif
