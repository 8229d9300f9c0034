/* SPDX-License-Identifier: Apache-2.0 */
/* Whole names of functions of which the DWARF has no linkage name, as of lambdas and of what is in an anonymous
 * namespace and was only ever inlined: "geo::(anonymous namespace)::Secret::Secret" instead of "Secret". */
#ifndef CPROF_TOOLS_SYMBOLIZE_SCOPE_H
#define CPROF_TOOLS_SYMBOLIZE_SCOPE_H

#include <elfutils/libdw.h>

#include <stddef.h>

struct scope_name {
    const void *die; /* address of the entry; NULL: free */
    char *name;      /* NULL: it has no scope but its file */
};

/* Names that were asked for. All zero at first. */
struct scope_names {
    struct scope_name *slots;
    size_t size; /* a power of two */
    size_t used;
};

/* The name of a function with the namespaces, types and functions around it, or NULL if there are none, or without
 * memory to say so. It lives until scope_names_release(). `die` is a function or a call that was inlined. */
const char *scope_names_of(struct scope_names *names, Dwarf_Die *die);

void scope_names_release(struct scope_names *names);

#endif
