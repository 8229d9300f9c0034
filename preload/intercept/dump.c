/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/dump.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "preload/cprof.h"
#include "preload/intercept/symbolize.h"
#include "preload/record/log.h"
#include "preload/record/memory.h"
#include "preload/record/output.h"
#include "preload/record/peak.h"
#include "preload/record/process.h"
#include "preload/record/record.h"
#include "preload/record/segment.h"
#include "preload/record/segment_file.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

#define EXPORT __attribute__((visibility("default")))

static uint64_t interval, interval_bytes;
static uint64_t next_time, next_bytes; /* when the next one is due */
static uint32_t asked;                 /* by a signal that came while one was being written */

/* The monotonic clock by the time-stamp counter would be cheaper, and wrong after a suspend. */
static uint64_t monotonic(void) {
    struct timespec t = {0};
    sys2(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int life_sandboxed;

static void add_names(enum output_kind kind, const char *path) {
    symbolize_start(path, kind != OUTPUT_DUMP);
}

static void dump(void) {
    if (life_sandboxed)
        return;
    if (output_write(OUTPUT_DUMP) == -EALREADY && !load_relaxed(&process_page->ended))
        store_release(&asked, 1u);
    while (load_relaxed(&asked)) {
        store_relaxed(&asked, 0u);
        if (output_write(OUTPUT_DUMP) == -EALREADY) {
            store_release(&asked, 1u);
            return; /* whoever is writing will see it */
        }
    }
}

/* Who of several threads moves the mark is the one that writes. */
static int due(uint64_t *mark, uint64_t now, uint64_t step) {
    uint64_t then = load_relaxed(mark);
    if (now < then)
        return 0;
    return cas_acq_rel(mark, &then, now + step);
}

/* At rate 1 there are millions of samples in a second, too many for a system call or a sum over all threads each time: the clock
 * is looked at when the processor's own counter has moved on by about a millisecond, the totals once in so many samples. */
#define CYCLES (1u << 21)
#define SAMPLES 64u

static int time_is_up(void) {
    static uint64_t last;
    uint64_t now = __builtin_ia32_rdtsc();
    if (now - load_relaxed(&last) < CYCLES)
        return 0;
    store_relaxed(&last, now);
    return due(&next_time, monotonic(), interval);
}

static int bytes_are_reached(void) {
    static uint32_t samples;
    struct record_totals totals;
    if (add_relaxed(&samples, 1u) % SAMPLES && segment.header->rate == 1)
        return 0;
    record_totals(&totals);
    return due(&next_bytes, totals.bytes, interval_bytes);
}

static void tick(void) {
    if ((interval && time_is_up()) || (interval_bytes && bytes_are_reached()) || load_relaxed(&asked))
        dump();
}

/* All that a dump does may be done in a signal handler. */
static void on_signal(int number) {
    int saved = errno;
    (void)number;
    dump();
    errno = saved;
}

static void tell_not_caught(int number, int err) {
    char buf[24];
    struct text t;
    text_init(&t, buf, sizeof buf);
    text_add_number(&t, (uint64_t)number);
    log_error(LOG_ERROR, "no profile is written upon a signal, which can't be caught: signal ", buf, err);
}

static void arm_signal(int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK}, before;
    if (sigaction(number, &action, &before) != 0)
        tell_not_caught(number, errno);
}

void dump_init(const struct config *c) {
    interval = c->interval;
    interval_bytes = c->interval_bytes;
    next_time = monotonic() + interval;
    next_bytes = interval_bytes;
    if (interval || interval_bytes)
        record_tick = tick;
    peak_kept = c->peak != 0;
    if (c->symbolize)
        output_written = add_names;
    if (c->signal)
        arm_signal((int)c->signal);
}

/* A child of vfork or clone(CLONE_VM) has its parent's records in its hands, and is none of ours. */
static int is_other_process(void) {
    return process_is_ours() && (uint32_t)sys_getpid() != segment.header->pid;
}

/* Another thread is writing. To leave now would be to cut it short. */
static void wait_for_writer(void) {
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int ms = 0; ms < SYMBOLIZE_WAIT * 1000 && load_acquire(&process_page->writing); ms++)
        sys2(SYS_nanosleep, &pause, 0);
}

static int write_it(enum output_kind kind) {
    int ret;
    for (int tries = 0; (ret = output_write(kind)) == -EALREADY && tries < 1000; tries++)
        wait_for_writer();
    return ret;
}

/* Writes the last profile if nobody has begun to; the segment is then no longer needed. */
static void write_last(void) {
    if (!segment.header || life_sandboxed || is_other_process())
        return;
    record_check_process();
    if (!segment.header)
        return;
    if (exchange_acquire(&process_page->ended, 1u)) {
        wait_for_writer();
        return;
    }
    int ret = write_it(OUTPUT_END);
    if (ret == 0 && peak_kept) {
        peak_settle();
        ret = write_it(OUTPUT_PEAK);
    }
    if (ret == 0)
        store_release(&segment.header->state, (uint32_t)SEGMENT_WRITTEN);
}

void dump_at_end(void) {
    write_last();
    if (segment.header && !life_sandboxed && !is_other_process() && load_relaxed(&segment.header->state) == SEGMENT_WRITTEN)
        segment_file_remove();
}

/* The file stays, marked as finished: the exec may fail. If it doesn't the next program takes it away. */
void dump_before_exec(void) {
    write_last();
}

void dump_exec_failed(void) {
    int saved = errno;
    if (segment.header && !life_sandboxed && !is_other_process()) {
        store_release(&segment.header->state, (uint32_t)SEGMENT_LIVE);
        store_release(&process_page->ended, 0u);
    }
    errno = saved;
}

EXPORT void cprof_start(void) {
    record_switch(1);
}

EXPORT void cprof_stop(void) {
    record_switch(0);
}

EXPORT int cprof_dump(const char *path) {
    int ret = path ? output_write_to(path) : output_write(OUTPUT_DUMP);
    if (ret < 0)
        errno = -ret;
    return ret < 0 ? -1 : 0;
}

EXPORT int cprof_get_stats(struct cprof_stats *stats) {
    struct record_totals totals;
    *stats = (struct cprof_stats){0};
    if (!segment.header) {
        errno = ENODATA;
        return -1;
    }
    record_totals(&totals);
    stats->alloc_bytes = totals.bytes;
    stats->alloc_calls = totals.calls;
    record_sampled(&stats->sampled_bytes, &stats->sampled_blocks);
    stats->dropped = load_relaxed(&segment.header->dropped);
    stats->own_bytes = memory_own();
    return 0;
}
