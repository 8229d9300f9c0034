/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread has: one record, found again, taken over by a later thread at the same address, never shared by two.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "preload/record/memory.h"
#include "preload/record/segment.h"
#include "preload/record/thread.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static void test_own(void) {
    test_fail_syscall(SYS_mmap, ENOMEM, 0, TEST_ALWAYS);
    ok(!thread_get(), "no memory, no record");
    test_fail_syscall(0, 0, 0, 0);
    ok(thread_self == &thread_unknown && thread_unknown.countdown < 0,
       "a thread starts with the record of unknown ones");
    struct thread *t = thread_get();
    ok(t && t != &thread_unknown, "its first call makes one");
    is(t->countdown, 0, "with an even countdown");
    ok(t->owned && t->shard < SEGMENT_OWNED_SHARDS, "and a shard of its own");
    ok(thread_get() == t && thread_self == t, "later calls find it");
    is((uintptr_t)t % 64, 0, "its first line is a cache line");
}

static void test_walks(void) {
    struct thread *t = thread_get();
    test_fail_syscall(SYS_mmap, ENOMEM, 0, TEST_ALWAYS);
    ok(!thread_walk(t, 0), "no memory, no walk");
    test_fail_syscall(0, 0, 0, 0);
    struct walk *w[THREAD_LEVELS];
    int apart = 1;
    for (uint32_t i = 0; i < THREAD_LEVELS; i++) {
        w[i] = thread_walk(t, i);
        apart &= w[i] != NULL && (!i || w[i] != w[i - 1]) && w[i]->kept == 0;
        /* All of the room that it says it has. */
        memset(w[i]->frame, 1, 2 * walk_depth * sizeof *w[i]->frame);
        memset(w[i]->fresh, 1, 2 * walk_depth * sizeof *w[i]->fresh);
    }
    ok(apart, "a walk for each level of interruption");
    int same = 1;
    for (uint32_t i = 0; i < THREAD_LEVELS; i++)
        same &= thread_walk(t, i) == w[i];
    ok(same, "which stays");
    ok(!thread_walk(t, THREAD_LEVELS), "and none beyond");
}

static void test_users(void) {
    struct thread *t = thread_get();
    struct thread_mark mark[THREAD_LEVELS + 1];
    int in_turn = 1;
    for (uint32_t i = 0; i <= THREAD_LEVELS; i++)
        mark[i].self = &mark[i];
    ok(thread_use_first(t, &mark[0]) && !thread_use_first(t, &mark[1]), "a walk has one user");
    for (uint32_t i = 1; i <= THREAD_LEVELS; i++)
        in_turn &= thread_use_any(t, &mark[i]) == i;
    ok(in_turn, "others get others, and the last one none");
    mark[2].self = NULL;
    is(thread_use_any(t, &mark[THREAD_LEVELS]), 2, "where a user's mark is no more its walk is free");
    is(thread_use_any(t, &mark[5]), 5, "and where the next one's is");
    struct thread_mark *gone = memory_map(4096);
    gone->self = gone;
    t->user[3] = gone;
    mark[THREAD_LEVELS].self = &mark[THREAD_LEVELS];
    mark[2].self = mark[3].self = &mark[3];
    is(thread_use_any(t, &mark[3]), THREAD_LEVELS, "all in use again");
    memory_unmap(gone, 4096);
    is(thread_use_any(t, &mark[3]), 3, "that of a user whose stack is unmapped is free");
    for (uint32_t i = 0; i < THREAD_LEVELS; i++)
        t->user[i] = NULL;
}

struct seen {
    pthread_t self;
    struct thread *record;
    int again, kept;
};

static void *look(void *arg) {
    struct seen *s = arg;
    s->self = pthread_self();
    s->again = thread_self == &thread_unknown;
    s->record = thread_get();
    s->again &= thread_get() == s->record && thread_self == s->record;
    struct walk *w = thread_walk(s->record, 0);
    s->kept = w ? (int)w->kept : -1;
    if (w)
        w->kept = 7;
    s->record->samples += 3;
    return NULL;
}

/* One after the other: libc gives a new thread the stack of one that ended, and its address with it. */
static void test_reuse(void) {
    enum { N = 20 };
    struct seen seen[N];
    int right = 1, found = 0, forgotten = 1;
    for (int i = 0; i < N; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, look, &seen[i]);
        pthread_join(thread, NULL);
        right &= seen[i].record && seen[i].again;
        forgotten &= seen[i].kept == 0;
        for (int j = 0; j < i; j++)
            if (pthread_equal(seen[j].self, seen[i].self)) {
                right &= seen[j].record == seen[i].record;
                found++;
                break;
            }
    }
    ok(right, "threads one after the other: each is new, and has the record of the earlier one at its address");
    ok(forgotten, "whose stack is forgotten");
    if (found)
        ok(seen[N - 1].record->samples >= 6, "and whose totals go on");
    else
        ok(1, "totals go on # SKIP no two threads had the same address");
}

enum { THREADS = 40 };
static struct thread *record_of[THREADS];
static uintptr_t pointer_of[THREADS];
static pthread_barrier_t all_there;

static void get(unsigned number) {
    record_of[number] = thread_get();
    pointer_of[number] = record_of[number]->pointer;
    for (int i = 0; i < 100; i++)
        add_owned(&record_of[number]->calls, 1);
    pthread_barrier_wait(&all_there); /* so that all live at once */
}

static unsigned counted;
static void count_one(struct thread *t, void *ctx) {
    (void)t;
    ++*(unsigned *)ctx;
}

static void test_threads_get(void) {
    pthread_barrier_init(&all_there, NULL, THREADS);
    test_threads(THREADS, get);
    int apart = 1, owned_once = 1, shared = 1, owners = 0;
    for (int i = 0; i < THREADS; i++) {
        owners += record_of[i]->owned != 0;
        shared &= record_of[i]->owned
                      ? record_of[i]->shard < SEGMENT_OWNED_SHARDS
                      : record_of[i]->shard >= SEGMENT_OWNED_SHARDS && record_of[i]->shard < SEGMENT_SHARDS;
        for (int j = 0; j < i; j++) {
            apart &= record_of[i] != record_of[j] && pointer_of[i] != pointer_of[j];
            owned_once &= !record_of[i]->owned || record_of[i]->shard != record_of[j]->shard;
        }
    }
    ok(apart, "%d threads at once: each has a record of its own", THREADS);
    ok(owned_once && shared, "no shard that is one's own is another's, the others are spread over the rest");
    ok(owners > 0 && owners <= (int)SEGMENT_OWNED_SHARDS, "%d have one", owners);
    thread_each(count_one, &counted);
    ok(counted >= THREADS && counted < THREADS + 30, "all records are called back for, of those that ended too: %u",
       counted);
}

int main(void) {
    test_own();
    test_walks();
    test_users();
    test_reuse();
    test_threads_get();
    return tap_done();
}
