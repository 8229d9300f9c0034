/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a program's code stacks can be followed through by unwind tables.
 *
 * Why:     every program has tables for what libc and the compiler bring along to start it, also if its own code was
 *          compiled without. So that there are some says nothing.
 * Model:   what the sections of code have that no entry of .eh_frame covers, in pieces of any size worth mentioning.
 * The linkage table and what starts the program count neither way. */
#ifndef CPROF_TOOLS_EXPLAIN_UNWIND_H
#define CPROF_TOOLS_EXPLAIN_UNWIND_H

#include <gelf.h>

/* In percent: 100 is all of it, 0 none; anything between is neither, and is not rounded to either. */
unsigned explain_unwind_percent(Elf *elf);

#endif
