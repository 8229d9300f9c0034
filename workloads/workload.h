/* SPDX-License-Identifier: Apache-2.0 */
/* What the bundled workloads share: their command line, and the account they keep of what they ask for.
 *
 * A workload is a small program whose allocations are known to the byte. For every function of its own that
 * allocates it prints a line
 *
 *     truth FUNCTION BYTES OBJECTS
 *
 * where FUNCTION is the one whose frame calls malloc, BYTES the sum of the sizes asked for and OBJECTS the number
 * of calls that succeeded; a realloc counts with its new size. A profile taken at rate 1 has to show the same
 * figures as that function's flat alloc_space and alloc_objects, and nothing in use, for all is freed at the end.
 *
 * The account is kept beside each call from the size that the program worked out, not inside a wrapper. A wrapper
 * would own the calls; an inlined one as well, since profiles show inlined frames. So functions that allocate call
 * malloc in their own body, are marked ALLOCATES, and what they share are macros and plain arithmetic.
 *
 * All of this is deterministic: no clocks, no addresses, a random number generator of our own. What a program
 * prints is the same with and without a profiler, and the same in every run.
 */
#ifndef CPROF_WORKLOADS_WORKLOAD_H
#define CPROF_WORKLOADS_WORKLOAD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps a function apart: never inlined, cloned, merged with its like, or specialised for its callers.
 * (Tail calls are switched off for the whole program, see rules.mk.) */
#if defined(__GNUC__) && !defined(__clang__)
#define ALLOCATES __attribute__((noipa))
#else
#define ALLOCATES __attribute__((noinline))
#endif

/* The account of one function. */
struct truth {
    const char *function;
    uint64_t bytes;
    uint64_t objects;
};

/* Enters `block`, just returned by malloc or its like for `bytes` bytes. Without memory the program gives up:
 * half a workload proves nothing. */
static inline void truth_add(struct truth *account, const void *block, size_t bytes) {
    if (!block) {
        fprintf(stderr, "no memory for %zu bytes in %s\n", bytes, account->function);
        exit(1);
    }
    account->bytes += bytes;
    account->objects++;
}

/* Prints the account, unless the variant that ran never used it. */
static inline void truth_print(const struct truth *account) {
    if (account->objects)
        printf("truth %s %" PRIu64 " %" PRIu64 "\n", account->function, account->bytes, account->objects);
}

/* An option that takes a number, from 1 to `max`; `value` is the default until the command line is read.
 * A list of them ends with one without a name. */
struct workload_number {
    const char *option; /* as typed, such as "--ops" */
    const char *help;
    uint64_t max;
    uint64_t value;
};

struct workload {
    const char *name;
    const char *about;           /* what it does, one sentence */
    const char *const *variants; /* ends with NULL; NULL itself when there is only the one way to run it */
    struct workload_number *numbers;
};

static inline void workload_list(const struct workload *w, FILE *out, const char *between, const char *last) {
    for (const char *const *v = w->variants; v && *v; v++)
        fprintf(out, "%s%s", *v, v[1] ? between : last);
}

static inline void workload_help(const struct workload *w) {
    printf("usage: %s%s [options]\n%s\n\n", w->name, w->variants ? " VARIANT" : "", w->about);
    if (w->variants) {
        printf("variants: ");
        workload_list(w, stdout, ", ", "\n\n");
    }
    for (const struct workload_number *n = w->numbers; n->option; n++)
        printf("  %-6s N %s (%" PRIu64 ")\n", n->option, n->help, n->value);
    printf("  --list   print the variants, one a line\n  --help   print this text\n");
}

/* One line on stderr and exit status 2. `given` is the argument at fault; the variants are told when it should have
 * been one of them. */
static inline _Noreturn void workload_misuse(const struct workload *w, const char *what, const char *given, bool list) {
    fprintf(stderr, "%s: %s%s%s%s", w->name, what, given ? " '" : "", given ? given : "", given ? "'" : "");
    if (list) {
        fprintf(stderr, ", should be one of ");
        workload_list(w, stderr, ", ", "");
    }
    fprintf(stderr, "; see --help\n");
    exit(2);
}

static inline bool workload_read_number(struct workload_number *n, const char *text) {
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    n->value = strtoull(text, &end, 10);
    return !*end && n->value >= 1 && n->value <= n->max;
}

/* Reads the command line into the numbers and returns the index of the chosen variant (0 when there are none).
 * Answers --help and --list, and ends the program with status 2 when the command line is wrong.
 * To be called first: it also gives stdout a buffer of its own, so that printing doesn't allocate. */
static inline int workload_start(const struct workload *w, int argc, char **argv) {
    static char buffer[1 << 14];
    int chosen = w->variants ? -1 : 0;

    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "--list")) {
            if (argv[i][2] == 'h')
                workload_help(w);
            else
                workload_list(w, stdout, "\n", "\n");
            exit(fflush(stdout) ? 1 : 0);
        }
        if (argv[i][0] == '-') {
            struct workload_number *n = w->numbers;
            while (n->option && strcmp(n->option, argv[i]))
                n++;
            if (!n->option)
                workload_misuse(w, "unknown option", argv[i], false);
            if (!workload_read_number(n, argv[++i])) { /* behind the last argument there is a NULL */
                fprintf(stderr, "%s: %s needs a number from 1 to %" PRIu64 "\n", w->name, n->option, n->max);
                exit(2);
            }
            continue;
        }
        if (chosen >= 0)
            workload_misuse(w, "unexpected argument", argv[i], false);
        for (int v = 0; w->variants[v] && chosen < 0; v++)
            if (!strcmp(w->variants[v], argv[i]))
                chosen = v;
        if (chosen < 0)
            workload_misuse(w, "unknown variant", argv[i], true);
    }
    if (chosen < 0)
        workload_misuse(w, "no variant given", NULL, true);
    return chosen;
}

/* The exit status: 1 when what was printed could not be written. */
static inline int workload_end(void) {
    return fflush(stdout) ? 1 : 0;
}

/* splitmix64: the next of a sequence of random numbers that `state` alone decides. */
static inline uint64_t workload_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* FNV-1a over more bytes; start with WORKLOAD_HASH. Makes results small enough to print. */
#define WORKLOAD_HASH 14695981039346656037ull

static inline uint64_t workload_hash(uint64_t hash, const void *data, size_t bytes) {
    for (const unsigned char *p = data; bytes--; p++)
        hash = (hash ^ *p) * 1099511628211ull;
    return hash;
}

#endif
