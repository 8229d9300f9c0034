/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a function among all loaded objects without the loader's lock, which dlsym and dlopen take: another thread may
 * hold it and be waiting for this one. */
#ifndef CPROF_INTERCEPT_SYMBOL_H
#define CPROF_INTERCEPT_SYMBOL_H

/* Finds the loader's list; takes its lock. */
void symbol_init(void);

/* The first definition of a function in the loader's list of objects; if `not_in` is not NULL, that is not in the object which
 * it points into. NULL if there is none. (dlsym(RTLD_DEFAULT) would also give the place in an executable's procedure linkage
 * table that stands for a function of which it takes the address.) */
void *symbol_find_loaded(const char *name, const void *not_in);

#endif
