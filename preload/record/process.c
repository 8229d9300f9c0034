/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/record/log.h"
#include "preload/record/memory.h"
#include "preload/record/output.h"
#include "preload/record/peak.h"
#include "preload/record/record.h"
#include "preload/record/rules.h"
#include "preload/record/segment.h"
#include "preload/record/segment_file.h"
#include "preload/record/shadow.h"
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
    page->ours = process_number();
    /* Before Linux 4.14 this fails; a child is then told by process_forked() alone. One that is forked without libc is not told at
     * all, and would write to its parent's records if these were a file. */
    if (sys_madvise(page, MEMORY_PAGE, MADV_WIPEONFORK) < 0 && !segment.header->private_memory)
        return 0;
    process_page = page;
    return 1;
}

void process_give_up(void) {
    process_follow = 0;
    add_relaxed(&process_number_now, 1u);
    store_release(&process_page->ours, process_number());
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

void process_identity(struct segment_identity *who, int may_open) {
    who->pid = (uint32_t)sys_getpid();
    who->uid = (uint32_t)sys1(SYS_geteuid, 0);
    who->start_ticks = may_open ? start_ticks() : 0;
}

void process_enter_header(const struct segment_identity *who) {
    struct segment_header *h = segment.header;
    h->pid = who->pid;
    h->uid = who->uid;
    h->start_ticks = who->start_ticks;
    h->start_wall_ns = now(CLOCK_REALTIME);
    h->start_mono_ns = now(CLOCK_MONOTONIC);
}

void process_go_live(void) {
    memory_show(&segment.header->own_bytes);
    store_release(&segment.header->state, (uint32_t)SEGMENT_LIVE);
}

static void count_inherited(uint32_t bucket) {
    struct segment_count *c = bucket < process_first_bucket ? segment_count_at(0, bucket) : NULL;
    if (c)
        c->allocs++;
}

/* The parent's counts have moved on; what was in use at the fork is what the shadow map, a private copy, still shows. Those
 * blocks keep their buckets, as if they had been allocated at the fork. */
static void start_anew(const struct segment_identity *who) {
    struct segment_header *h = segment.header;
    store_release(&h->state, (uint32_t)SEGMENT_STARTING);
    process_first_bucket = h->inherited_buckets = (uint32_t)h->region[SEGMENT_BUCKETS].used;
    shadow_each(count_inherited);
    tree_forget_buckets();
    rules_forked();
    peak_restart();
    h->parent_pid = h->pid;
    h->dumps = 0;
    h->other_bytes = h->other_calls = 0;
    h->dropped = h->truncated = 0;
    for (unsigned i = 0; i < SEGMENT_OVERFLOW_CLASSES; i++)
        h->overflow[i] = (struct segment_overflow){0};
    process_enter_header(who);
    record_reseed();
}

/* The calling thread's totals start now. */
static int restart_totals(void) {
    struct thread *t = thread_self;
    if (t == &thread_unknown)
        return 0;
    t->base = (uint64_t)t->countdown;
    t->calls = 0;
    return 1;
}

static void adopt(int may_open) {
    struct segment_identity who;
    memory_show(NULL);
    add_relaxed(&process_number_now, 1u);
    if (!process_follow) {
        record_never();
        segment_file_disown();
        segment_discard(); /* or the parent's would stay as long as this process */
        return;
    }
    process_identity(&who, may_open);
    if (segment_adopt(&who, may_open) < 0) {
        log_line(LOG_ERROR, "no memory to profile this child process", NULL, NULL);
        record_never();
        segment_discard();
        return;
    }
    start_anew(&who);
    output_name_stored();
    process_go_live();
}

void process_forked(void) {
    process_page->ours = process_page->adopting = process_page->rare = process_page->writing = process_page->copying_peak =
        process_page->ended = 0;
    restart_totals();
    adopt(1);
    record_redraw();
    store_release(&process_page->ours, process_number());
}

int process_adopt(void) {
    uint32_t idle = 0;
    int restarted = 0;
    if (!cas_acq_rel(&process_page->adopting, &idle, 1u)) {
        /* Another thread is at it; it takes microseconds. */
        for (unsigned i = 0; i < 1u << 24 && !process_is_ours(); i++)
            __builtin_ia32_pause();
        return 0;
    }
    if (!process_is_ours()) {
        restarted = restart_totals();
        adopt(0);
        store_release(&process_page->ours, process_number());
    }
    store_release(&process_page->adopting, 0u);
    return restarted;
}
