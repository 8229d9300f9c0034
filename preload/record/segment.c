/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/segment.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/record/log.h"
#include "preload/record/memory.h"
#include "preload/record/segment_file.h"
#include "preload/record/sys.h"

struct segment segment;

/* Capacities when address space is plentiful; they are halved together until the reservation fits, but for the least that
 * any program needs. 0.9 GiB of address space in all, which costs nothing unless a program limits it (segment_shrink). */
static const struct {
    uint32_t entry_size, capacity, least;
} layout[SEGMENT_REGIONS] = {
    [SEGMENT_MODULES] = {sizeof(struct segment_module), 1u << 14, 1u << 11},
    [SEGMENT_STRINGS] = {1, 1u << 24, 1u << 19},
    [SEGMENT_PCS] = {sizeof(struct segment_pc), 1u << 21, 0},
    [SEGMENT_NODES] = {sizeof(struct segment_node), 1u << 24, 0},
    [SEGMENT_BUCKETS] = {sizeof(struct segment_bucket), 1u << 21, 0},
    [SEGMENT_COUNTS] = {sizeof(struct segment_count), SEGMENT_SHARDS << 21, 0},
    [SEGMENT_PEAK] = {sizeof(uint64_t), 1u << 21, 0},
    [SEGMENT_THREADS] = {sizeof(struct segment_thread), 1u << 16, 0},
};
#define MAX_HALVINGS 8

static uint64_t lay_out(struct segment_header *h, int halvings) {
    uint64_t at = SEGMENT_PAGE;
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        uint64_t capacity = layout[r].capacity >> halvings;
        if (capacity < layout[r].least)
            capacity = layout[r].least;
        h->region[r] = (struct segment_extent){at, layout[r].entry_size, capacity, 0};
        at += memory_pages(capacity * layout[r].entry_size);
    }
    return at;
}

static uint64_t whole_size; /* bytes of address space; the header, which says so too, may not be readable */
static int shared;        /* the segment is a file */
static int shrunk;
static uint64_t limit[SEGMENT_REGIONS]; /* entries that may be opened: the capacity, or less after segment_shrink() */

/* Puts memory under the bytes [from, to) of the segment, both multiples of a page. */
static int open_range(uint64_t from, uint64_t to, int anyway) {
    char *at = (char *)segment.header + from;
    int ret = memory_open_anyway(at, to - from, anyway);
    /* One call in place of a fault a page; and where the file system is full it says so, while writing would be a SIGBUS. */
    if (ret < 0 || sys_madvise(at, to - from, MADV_POPULATE_WRITE) == 0 || !shared)
        return ret;
    /* This part of the segment will not be seen from outside, but the process goes on recording. */
    void *own = sys_mmap(at, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (sys_failed((long)own)) {
        memory_discharge(to - from);
        return -ENOMEM;
    }
    if (!exchange_acquire(&segment.header->private_memory, 1u))
        log_line(LOG_WARN, "/dev/shm is full: cprof dump and recover will not see all of this process", NULL, NULL);
    return 0;
}

/* How many entries to have memory for when `need` are needed: grow by a quarter, by 16 KiB at least and 1 MiB at most. */
static uint64_t grown(uint64_t need, uint64_t entry_size, uint64_t capacity) {
    uint64_t bytes = need * entry_size;
    uint64_t more = bytes / 4 < 4 * MEMORY_PAGE ? 4 * MEMORY_PAGE : bytes / 4 > 1u << 20 ? 1u << 20 : bytes / 4;
    uint64_t entries = memory_pages(bytes + more) / entry_size;
    return entries < capacity ? entries : capacity;
}

/* Opens what lies between the old and the new number of entries and moves the mark up. Two threads may do the same at
 * once: opening twice is harmless, and the mark only grows. */
static int open_entries(uint64_t base, uint64_t entry_size, uint64_t have, uint64_t want, int anyway) {
    uint64_t from = base + (have * entry_size & ~(MEMORY_PAGE - 1));
    uint64_t to = base + memory_pages(want * entry_size);
    if (have * entry_size & (MEMORY_PAGE - 1))
        from += MEMORY_PAGE; /* its page is open already */
    return from < to ? open_range(from, to, anyway) : 0;
}

int segment_open_region(enum segment_region region, uint64_t n) {
    struct segment_extent *e = &segment.header->region[region];
    uint64_t have = load_acquire(&segment.committed[region]);
    if (n <= have)
        return 1;
    if (n > limit[region])
        return 0;
    uint64_t want = grown(n, e->entry_size, limit[region]);
    if (open_entries(e->offset, e->entry_size, have, want, 0) < 0)
        return 0;
    while (have < want && !cas_acq_rel(&segment.committed[region], &have, want))
        ;
    return 1;
}

int segment_open_counts(uint32_t shard, uint32_t bucket, int anyway) {
    struct segment_header *h = segment.header;
    uint64_t capacity = h->region[SEGMENT_BUCKETS].capacity;
    uint32_t have = load_acquire(&h->shard_buckets[shard]);
    if (bucket < have)
        return 1;
    if (bucket >= limit[SEGMENT_BUCKETS])
        return 0;
    uint32_t want = (uint32_t)grown((uint64_t)bucket + 1, sizeof(struct segment_count), limit[SEGMENT_BUCKETS]);
    uint64_t base = h->region[SEGMENT_COUNTS].offset + shard * capacity * sizeof(struct segment_count);
    if (open_entries(base, sizeof(struct segment_count), have, want, anyway) < 0)
        return 0;
    while (have < want && !cas_acq_rel(&h->shard_buckets[shard], &have, want))
        ;
    return 1;
}

uint32_t segment_take(enum segment_region region, uint32_t n) {
    uint64_t *used = &segment.header->region[region].used;
    uint64_t at = load_relaxed(used);
    do {
        if (!segment_open_region(region, at + n))
            return 0;
    } while (!cas_acq_rel(used, &at, at + n));
    return (uint32_t)at;
}

uint32_t segment_store_string(const char *s, size_t len) {
    uint32_t at = len && len < 1u << 20 ? segment_take(SEGMENT_STRINGS, (uint32_t)len + 1) : 0;
    if (at)
        for (size_t i = 0; i < len; i++)
            segment.strings[at + i] = s[i];
    return at;
}

static void set_pointers(char *base) {
    struct segment_header *h = (struct segment_header *)base;
    for (int r = 0; r < SEGMENT_REGIONS; r++)
        limit[r] = h->region[r].capacity;
    segment.modules = (struct segment_module *)(base + h->region[SEGMENT_MODULES].offset);
    segment.strings = base + h->region[SEGMENT_STRINGS].offset;
    segment.pcs = (struct segment_pc *)(base + h->region[SEGMENT_PCS].offset);
    segment.nodes = (struct segment_node *)(base + h->region[SEGMENT_NODES].offset);
    segment.buckets = (struct segment_bucket *)(base + h->region[SEGMENT_BUCKETS].offset);
    segment.counts = (struct segment_count *)(base + h->region[SEGMENT_COUNTS].offset);
    segment.peak = (uint64_t *)(base + h->region[SEGMENT_PEAK].offset);
    segment.threads = (struct segment_thread *)(base + h->region[SEGMENT_THREADS].offset);
}

static int reserve_entries(void) {
    static const uint32_t reserved[SEGMENT_REGIONS] = {
        [SEGMENT_MODULES] = 1,        [SEGMENT_STRINGS] = 1,       [SEGMENT_PCS] = SEGMENT_PC_FIRST, [SEGMENT_NODES] = 1,
        [SEGMENT_BUCKETS] = SEGMENT_BUCKET_FIRST, [SEGMENT_THREADS] = 1,
    };
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        if (!reserved[r])
            continue;
        if (!segment_open_region(r, reserved[r]))
            return -ENOMEM;
        segment.header->region[r].used = reserved[r];
    }
    return 0;
}

/* SIGXFSZ would be sent if the file is longer than the process may write. */
static long block_xfsz(int how, uint64_t *mask) {
    uint64_t before = 1ull << (SIGXFSZ - 1);
    if (how == SIG_SETMASK)
        return sys4(SYS_rt_sigprocmask, how, mask, 0, 8);
    return sys4(SYS_rt_sigprocmask, how, &before, mask, 8);
}

static int open_file(const struct segment_identity *who, uint64_t size) {
    uint64_t mask;
    long blocked = block_xfsz(SIG_BLOCK, &mask);
    int fd = segment_file_create(size, who->uid, who->pid, who->start_ticks);
    if (blocked == 0) {
        /* One of ours is taken back before it is delivered. */
        uint64_t ours = 1ull << (SIGXFSZ - 1);
        struct timespec none = {0};
        if (fd == -EFBIG)
            sys4(SYS_rt_sigtimedwait, &ours, 0, &none, 8);
        block_xfsz(SIG_SETMASK, &mask);
    }
    return fd;
}

static char *map_file(int fd, uint64_t size) {
    char *base = sys_mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return sys_failed((long)base) ? NULL : base;
}

/* Kernels before 5.14 can't be asked for memory without risking a SIGBUS. */
static int can_populate(char *base) {
    if (sys_mprotect(base, SEGMENT_PAGE, PROT_READ | PROT_WRITE) == 0 &&
        sys_madvise(base, SEGMENT_PAGE, MADV_POPULATE_WRITE) == 0)
        return 1;
    log_line(LOG_WARN, "no view from outside: no room in ", segment_file_directory(), NULL);
    return 0;
}

int segment_create(const struct segment_identity *who, uint64_t most) {
    struct segment_header plan = {0};
    char *base = NULL;
    for (int halvings = 0; !base && halvings <= MAX_HALVINGS; halvings++) {
        plan.size = lay_out(&plan, halvings);
        if (plan.size > most && halvings < MAX_HALVINGS)
            continue;
        int fd = open_file(who, plan.size);
        if (fd >= 0) {
            base = map_file(fd, plan.size);
            sys_close(fd);
            shared = base && can_populate(base);
            if (!shared) {
                segment_file_remove();
                if (base)
                    sys_munmap(base, plan.size);
                base = NULL;
            }
        }
        if (!base)
            base = memory_reserve(plan.size);
    }
    if (!base)
        return -ENOMEM;
    segment.header = (struct segment_header *)base;
    whole_size = plan.size;
    if (memory_open(base, SEGMENT_PAGE) < 0) {
        segment_discard();
        return -ENOMEM;
    }
    plan.magic = SEGMENT_MAGIC;
    plan.version = SEGMENT_VERSION;
    plan.header_size = sizeof plan;
    plan.private_memory = !shared;
    *segment.header = plan;
    set_pointers(base);
    int ret = reserve_entries();
    if (ret < 0)
        segment_discard();
    return ret;
}

void segment_discard(void) {
    if (!segment.header)
        return;
    memory_show(NULL);
    segment_file_remove();
    if (!shrunk) /* what was given back may be something else's now */
        sys_munmap(segment.header, whole_size);
    segment.header = NULL;
}

/* What a child needs of its parent's segment, which goes on changing: the header page and what is in use of these regions.
 * In this order a node's bucket is among those copied. */
static const enum segment_region kept[] = {SEGMENT_NODES, SEGMENT_BUCKETS, SEGMENT_PCS, SEGMENT_MODULES, SEGMENT_STRINGS};

/* How much of each was copied. More may be in use by the time the header is. */
static uint64_t copied[SEGMENT_REGIONS];

static uint64_t bytes_to_copy(enum segment_region r) {
    const struct segment_extent *e = &segment.header->region[r];
    uint64_t n = load_acquire(&e->used), most = segment.committed[r];
    return copied[r] = (n < most ? n : most) * e->entry_size;
}

/* Into the child's file; 0 or -errno. */
static int copy_to_file(int fd) {
    const char *base = (const char *)segment.header;
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) {
        const struct segment_extent *e = &segment.header->region[kept[i]];
        for (uint64_t done = 0, len = bytes_to_copy(kept[i]); done < len;) {
            long n = sys4(SYS_pwrite64, fd, base + e->offset + done, len - done, e->offset + done);
            if (n <= 0)
                return n ? (int)n : -EIO;
            done += (uint64_t)n;
        }
    }
    return sys4(SYS_pwrite64, fd, base, SEGMENT_PAGE, 0) == (long)SEGMENT_PAGE ? 0 : -ENOSPC;
}

/* Into memory of the child's own, which then takes the segment's place. */
static int copy_to_memory(uint64_t size) {
    char *base = (char *)segment.header;
    for (unsigned i = 0; i <= sizeof kept / sizeof *kept; i++) {
        int header = i == sizeof kept / sizeof *kept;
        uint64_t offset = header ? 0 : segment.header->region[kept[i]].offset;
        uint64_t len = header ? SEGMENT_PAGE : memory_pages(bytes_to_copy(kept[i]));
        if (!len)
            continue;
        char *copy = sys_mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sys_failed((long)copy))
            return -ENOMEM;
        for (uint64_t w = 0; w < len / 8; w++)
            ((uint64_t *)copy)[w] = ((const uint64_t *)(base + offset))[w];
        if (sys_failed(sys6(SYS_mremap, (long)copy, (long)len, (long)len, MREMAP_MAYMOVE | MREMAP_FIXED,
                            (long)(base + offset), 0)))
            return -ENOMEM;
    }
    /* The rest of it would still be the parent's. */
    uint64_t at = SEGMENT_PAGE;
    for (unsigned r = 0; r < SEGMENT_REGIONS; r++) {
        uint64_t from = segment.header->region[r].offset, len = 0;
        for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
            if (kept[i] == r)
                len = memory_pages(copied[r]);
        if (from > at &&
            sys_failed((long)sys_mmap(base + at, from - at, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                                      -1, 0)))
            return -ENOMEM;
        at = from + len;
    }
    return size > at && sys_failed((long)sys_mmap(base + at, size - at, PROT_NONE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0))
               ? -ENOMEM
               : 0;
}

/* What was copied is there, so it must not be asked for: where there is no more memory that fails, and open_range() would put
 * empty pages in its place. */
static int open_copied(enum segment_region r) {
    const struct segment_extent *e = &segment.header->region[r];
    uint64_t bytes = memory_pages(copied[r]), entries = bytes / e->entry_size;
    if (memory_open_anyway((char *)segment.header + e->offset, bytes, 1) < 0)
        return 0;
    segment.committed[r] = entries < e->capacity ? entries : e->capacity;
    return segment_open_region(r, e->used);
}

/* Opens again what was copied; the other regions start empty. */
static int reopen(void) {
    struct segment_header *h = segment.header;
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        memory_discharge(memory_pages(segment.committed[r] * h->region[r].entry_size));
        segment.committed[r] = 0;
    }
    for (unsigned s = 0; s < SEGMENT_SHARDS; s++) {
        memory_discharge(memory_pages(h->shard_buckets[s] * sizeof(struct segment_count)));
        h->shard_buckets[s] = 0;
    }
    h->region[SEGMENT_THREADS].used = 1;
    h->region[SEGMENT_PEAK].used = 0;
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!open_copied(kept[i]))
            return -ENOMEM;
    return segment_open_region(SEGMENT_THREADS, 1) ? 0 : -ENOMEM;
}

/* Room to grow that is kept. */
#define KEPT_ENTRIES 4096u

static void give_back(uint64_t from, uint64_t to) {
    if (from < to)
        sys_munmap((char *)segment.header + from, to - from);
}

void segment_shrink(void) {
    struct segment_header *h = segment.header;
    if (!h || exchange_acquire(&shrunk, 1))
        return;
    for (int r = 0; r < SEGMENT_REGIONS; r++) {
        const struct segment_extent *e = &h->region[r];
        uint64_t keep = load_acquire(&segment.committed[r]) + KEPT_ENTRIES;
        if (r == SEGMENT_COUNTS || keep >= e->capacity)
            continue;
        store_release(&limit[r], keep);
        give_back(e->offset + memory_pages(keep * e->entry_size), e->offset + memory_pages(e->capacity * e->entry_size));
    }
    uint64_t stride = h->region[SEGMENT_BUCKETS].capacity * sizeof(struct segment_count);
    for (uint64_t s = 0; s < SEGMENT_SHARDS; s++) {
        uint64_t base = h->region[SEGMENT_COUNTS].offset + s * stride;
        uint64_t open = load_acquire(&h->shard_buckets[s]), keep = limit[SEGMENT_BUCKETS];
        give_back(base + memory_pages((open > keep ? open : keep) * sizeof(struct segment_count)), base + stride);
    }
}

int segment_adopt(const struct segment_identity *who, int may_open) {
    if (shrunk)
        return -ENOMEM; /* nothing can be put in its place */
    uint64_t size = segment.header->size;
    void *base = segment.header;
    int fd = -EPERM;
    segment_file_disown();
    if (may_open && shared)
        fd = open_file(who, size);
    if (fd >= 0 && copy_to_file(fd) == 0 &&
        !sys_failed((long)sys_mmap(base, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0))) {
        sys_close(fd);
        if (sys_mprotect(base, SEGMENT_PAGE, PROT_READ | PROT_WRITE) < 0)
            return -ENOMEM;
    } else {
        if (fd >= 0) {
            sys_close(fd);
            segment_file_remove();
        }
        shared = 0;
        if (copy_to_memory(size) < 0)
            return -ENOMEM;
        segment.header->private_memory = 1;
    }
    return reopen();
}
