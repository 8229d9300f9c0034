/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic accesses, with the order in the name. All of preload/ uses these and no other.
 *
 * relaxed: the value alone matters. acquire/release: what was written before the release is seen after the
 * acquire that reads it. An `owned` add is for memory that one thread alone writes: it is a single instruction, so
 * that a signal handler of that thread may do the same in between, but takes no lock on the bus. */
#ifndef CPROF_RECORD_ATOMIC_H
#define CPROF_RECORD_ATOMIC_H

#include <stdint.h>

#define load_relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add_relaxed(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define exchange_acquire(p, v) __atomic_exchange_n(p, v, __ATOMIC_ACQUIRE)

/* Replace *p by `want` if it is *expected; otherwise *expected becomes what was found. */
#define cas_acq_rel(p, expected, want) \
    __atomic_compare_exchange_n(p, expected, want, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

static inline void add_owned(uint64_t *p, uint64_t v) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__("addq %1, %0" : "+m"(*p) : "er"(v) : "cc");
#else
    __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
#endif
}

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((cold, noinline))
#define HIDDEN __attribute__((visibility("hidden")))

#endif
