/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that may also stand inside a page: no < > & of a text is written as such. */
#ifndef CPROF_TOOLS_JSON_H
#define CPROF_TOOLS_JSON_H

#include <stddef.h>
#include <stdio.h>

/* Prints a text in quotes. Bytes that are not UTF-8 become U+FFFD each. */
void json_print_string(FILE *out, const void *bytes, size_t len);

#endif
