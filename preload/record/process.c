/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/record/memory.h"
#include "preload/record/record.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"
#include "preload/record/thread.h"
#include "preload/record/tree.h"

static struct process_page first_page; /* until there is a better one */
struct process_page *process_page = &first_page;
uint32_t process_number_now = 1;
uint32_t process_first_bucket = SEGMENT_BUCKET_FIRST;
int process_follow = 1;

int process_init(void) {
    struct process_page *page = memory_map(sizeof *page);
    if (!page)
        return 0;
    page->ours = 1;
    page->settled = 1;
    /* Before Linux 4.14 a child can't be told so; process_forked() clears the page then. */
    sys_madvise(page, MEMORY_PAGE, MADV_WIPEONFORK);
    process_page = page;
    return 1;
}

void process_forked(void) {
    struct thread *t = thread_self;
    store_relaxed(&process_page->ours, 0u);
    store_relaxed(&process_page->adopting, 0u);
    store_relaxed(&process_page->settled, 1u);
    if (t != &thread_unknown) {
        t->base = (uint64_t)t->countdown;
        t->calls = 0;
    }
}

static uint64_t now(int clock) {
    struct timespec t = {0};
    sys2(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Field 22 of /proc/self/stat; the second one, the name in parentheses, may hold anything. */
static uint64_t start_ticks(void) {
    char buf[1024];
    uint64_t ticks = 0;
    int fd = (int)sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    long n = fd < 0 ? 0 : sys_read(fd, buf, sizeof buf - 1);
    if (fd >= 0)
        sys_close(fd);
    if (n <= 0)
        return 0;
    buf[n] = 0;
    const char *at = buf;
    for (const char *p = buf; *p; p++)
        if (*p == ')')
            at = p + 1;
    for (int field = 3; *at == ' '; field++) {
        at++;
        if (field == 22)
            return text_number(&at, &ticks) ? ticks : 0;
        while (*at && *at != ' ')
            at++;
    }
    return 0;
}

void process_identify(void) {
    struct segment_header *h = segment.header;
    h->pid = (uint32_t)sys_getpid();
    h->uid = (uint32_t)sys1(SYS_getuid, 0);
    h->start_wall_ns = now(CLOCK_REALTIME);
    h->start_mono_ns = now(CLOCK_MONOTONIC);
    h->start_ticks = start_ticks();
}

/* Every bucket there is keeps the blocks that are in use now, as if they had been allocated at the fork. */
static void inherit_buckets(struct segment_header *h) {
    uint32_t n = (uint32_t)h->region[SEGMENT_BUCKETS].used;
    for (uint32_t b = SEGMENT_BUCKET_FIRST; b < n; b++) {
        uint64_t in_use = 0;
        for (uint32_t s = 0; s < SEGMENT_SHARDS; s++) {
            if (b >= h->shard_buckets[s])
                continue;
            struct segment_count *c = segment_count_at(s, b);
            in_use += c->allocs - c->frees;
            *c = (struct segment_count){0};
        }
        struct segment_count *c = segment_count_at(0, b);
        if (c)
            c->allocs = in_use;
    }
    h->inherited_buckets = n;
    process_first_bucket = n;
}

static void start_anew(void) {
    struct segment_header *h = segment.header;
    inherit_buckets(h);
    h->parent_pid = h->pid;
    h->dumps = 0;
    h->other_bytes = h->other_calls = 0;
    h->dropped = h->truncated = 0;
    for (unsigned i = 0; i < SEGMENT_OVERFLOW_CLASSES; i++)
        h->overflow[i] = (struct segment_overflow){0};
    uint64_t threads = h->region[SEGMENT_THREADS].used;
    for (uint64_t i = 0; i < threads; i++)
        segment.threads[i] = (struct segment_thread){0};
    h->region[SEGMENT_THREADS].used = 1;
    process_identify();
}

int process_adopt(void) {
    uint32_t idle = 0;
    int restarted = 0;
    if (!cas_acq_rel(&process_page->adopting, &idle, 1u)) {
        /* Another thread of a child that was made by a bare clone; it takes microseconds. */
        for (unsigned i = 0; i < 1u << 24 && !process_is_ours(); i++)
            __builtin_ia32_pause();
        return 0;
    }
    if (!process_is_ours()) {
        if (!process_page->settled) {
            struct thread *t = thread_self;
            restarted = t != &thread_unknown;
            if (restarted) {
                t->base = (uint64_t)t->countdown;
                t->calls = 0;
            }
        }
        add_relaxed(&process_number_now, 1u);
        tree_forget_buckets();
        start_anew();
        if (!process_follow)
            record_switch(0);
        store_release(&process_page->ours, 1u);
    }
    store_release(&process_page->adopting, 0u);
    return restarted;
}
