/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that ours stand in front of: those of the next object in the search order, whichever allocator that is.
 *
 * Until they are looked up the table points to stand-ins, so that the fast path need not ask. The lookup happens at the
 * first call, which may come before any constructor; allocations that the lookup itself makes come from the start-up arena
 * (arena.h). */
#ifndef CPROF_INTERCEPT_NEXT_H
#define CPROF_INTERCEPT_NEXT_H

#include <stddef.h>

#include "preload/record/atomic.h"

/* C++'s operators take up to two more arguments (alignment, nothrow_t), all in registers: passing two always is harmless. */
typedef void *next_new(size_t size, size_t a, size_t b);
typedef void next_delete(void *p, size_t a, size_t b, size_t c);

struct next {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    size_t (*malloc_usable_size)(void *);
    int (*dlclose)(void *);
    int (*setrlimit)(int, const void *);
    int (*prlimit)(int, int, const void *, void *);
    int (*daemon)(int, int);
    int (*execve)(const char *, char *const *, char *const *);
    int (*execv)(const char *, char *const *);
    int (*execvp)(const char *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*execveat)(int, const char *, char *const *, char *const *, int);
    /* Where the program has an allocator of its own in front of ours, the next reallocarray, which calls that one's realloc;
     * else NULL: ours is made of realloc. */
    void *(*reallocarray)(void *, size_t, size_t);
    void (*program_free)(void *); /* what the program's own calls of free reach, where that isn't ours; else as free */
    /* The operators are recorded here only if the allocator brings its own (tcmalloc, jemalloc, mimalloc do). libstdc++'s
     * call malloc, and are passed through. */
    int records_new;
#define HOOK(name)
#define NEW(name) next_new *name;
#define DELETE(name) next_delete *name;
#include "preload/intercept/hooks.def"
#undef HOOK
#undef NEW
#undef DELETE
};
extern struct next next HIDDEN;

/* For entry.S, which jumps to them: the next prctl and syscall, and the way to find them. */
extern void *next_prctl HIDDEN, *next_syscall HIDDEN;
HIDDEN void *next_find_prctl(void);
HIDDEN void *next_find_syscall(void);

/* Looks all up, if that has not been done. 1 when the table is right, 0 while another call is at it (an allocation that
 * comes from there must be served by the arena). */
int next_lookup(void);

/* The file that the next malloc comes from; "" if unknown. After the lookup. */
const char *next_allocator(void);
/* The allocator is glibc's, whose blocks are 32 bytes apart at least. */
int next_is_glibc(void);
/* Whose malloc the program's calls reach, if that isn't ours: it comes before us. NULL otherwise. */
const char *next_in_front(void);

/* The operator at `offset` in the table, where the search order of the program does not show one: a C program that loaded a
 * plugin, and the C++ library with it. NULL if there is none. */
void *next_operator(size_t offset, const char *name);

/* A library was closed: operators found by next_operator may have gone with it. */
void next_forget_operators(void);

#endif
