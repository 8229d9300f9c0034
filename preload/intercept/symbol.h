/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a function among all loaded objects without the loader's lock, which dlsym and dlopen take: another thread may
 * hold it and be waiting for this one. */
#ifndef CPROF_INTERCEPT_SYMBOL_H
#define CPROF_INTERCEPT_SYMBOL_H

/* Finds the loader's list; takes its lock. */
void symbol_init(void);

/* The first definition of a function among all objects that the loader has. (dlsym(RTLD_DEFAULT) would also give the place in an
 * executable's procedure linkage table that stands for a function of which it takes the address; and where there is none it
 * would leave an error text, which is the program's next dlsym's to free.) NULL if there is none. */
void *symbol_find(const char *name);

/* The same among the objects that come before this library, or after it. */
void *symbol_find_before(const char *name);
void *symbol_find_next(const char *name);

/* Whether `is` says so of any object's path. */
int symbol_any_object(int (*is)(const char *path));

#endif
