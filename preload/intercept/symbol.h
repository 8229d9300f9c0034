/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a function among all loaded objects without dlsym: that takes the loader's lock, which another thread may hold and be
 * waiting for this one; and where the program has a dlsym of its own in front of libc's, as overlays and tracers do, "next" is what
 * comes after that one. */
#ifndef CPROF_INTERCEPT_SYMBOL_H
#define CPROF_INTERCEPT_SYMBOL_H

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
