/* SPDX-License-Identifier: Apache-2.0 */
/* The segment: all that cprof knows about one process, as one block of memory.
 *
 * Role:    the only data structure that the library (writer), the encoder and the tools (readers) share.
 * Writers: the profiled process alone, by lock-free appends. Readers may look at any moment, also at the
 *          memory of a process that was killed half-way through an append.
 *
 * The segment is a header page followed by regions. A region is an array of fixed-size entries that only
 * ever grows; entries refer to each other by index, never by pointer, so that the block can be read from a
 * file, in another process, at another address. The regions' places and capacities are chosen when the
 * segment is made and stand in the header. Pages of a region that were never used are holes.
 *
 * Publication: a writer reserves an index by adding to the region's `used`, fills the entry in, and then
 * publishes the index by storing it (release) where others find it. So an entry below `used` may still be
 * all zero or half-filled; an entry that can be reached from a bucket is whole. Index 0 of every region is
 * reserved and means "none" (strings: the empty string).
 *
 * Reading is done through proto/view.h alone, which checks every index against its region.
 */
#ifndef CPROF_PROTO_SEGMENT_H
#define CPROF_PROTO_SEGMENT_H

#include <stdint.h>

#define SEGMENT_MAGIC 0x3147455346525043ull /* "CPRFSEG1", little endian */
#define SEGMENT_VERSION 1u
#define SEGMENT_PAGE 4096u

/* Counters are spread over shards so that two threads at one call site don't write one cache line. The first
 * half of the shards belong to one thread each and are updated by plain adds; the rest are shared by the
 * remaining threads and updated by atomic ones. A bucket's value is the sum over all shards. */
#define SEGMENT_SHARDS 16u
#define SEGMENT_OWNED_SHARDS 8u

enum segment_region {
    SEGMENT_MODULES, /* struct segment_module */
    SEGMENT_STRINGS, /* bytes: paths and build ids, each followed by a zero byte */
    SEGMENT_PCS,     /* struct segment_pc */
    SEGMENT_NODES,   /* struct segment_node */
    SEGMENT_BUCKETS, /* struct segment_bucket */
    SEGMENT_COUNTS,  /* struct segment_count: shard s, bucket b at index s * capacity(SEGMENT_BUCKETS) + b; there is
                        memory only below the header's shard_buckets[s]: beyond, the count is 0 and must not be read.
                        The region's own `used` is not kept */
    SEGMENT_PEAK,    /* uint64_t for each bucket: blocks in use at the peak (CPROF_PEAK); parallel to the buckets;
                        `used` says for how many buckets it was taken */
    SEGMENT_THREADS, /* struct segment_thread */
    SEGMENT_REGIONS
};

/* A range of executable memory that one file was mapped to, as it was when first seen on a stack.
 * Never changed afterwards, so that a library that was closed keeps its frames. Module 1 is the main
 * executable, also when no frame of it was seen. */
struct segment_module {
    uint64_t start;       /* first address of the executable range */
    uint64_t limit;       /* first address behind it */
    uint64_t file_offset; /* offset in the file of `start` */
    uint64_t bias;        /* what to subtract from an address to get the ELF virtual address */
    uint32_t path;        /* offset in the strings; may hold any bytes but zero */
    uint32_t path_len;    /* bytes, without the zero */
    uint32_t build_id;    /* offset in the strings of the raw bytes (not hexadecimal), 0 if there is none */
    uint32_t build_id_len;
    uint32_t flags; /* SEGMENT_MODULE_* */
    uint32_t ready; /* 1 once the entry is whole */
};
#define SEGMENT_MODULE_CLOSED 1u /* unloaded since */
#define SEGMENT_MODULE_VDSO 2u
#define SEGMENT_MODULE_ANON 4u /* no file: code made at run time */

/* One address seen on stacks. `address` lies inside the calling instruction (return address - 1), or is the pc
 * itself where a signal interrupted the frame; so it is what a profile's Location holds, as it stands. */
struct segment_pc {
    uint64_t address;
    uint32_t module; /* index in the modules, 0: in none */
    uint32_t rule;   /* the library's own: how to walk on from here (preload/record/rules.h) */
};
/* Reserved entries, written when the segment is made; `address` is 0 and they stand for these function names. */
#define SEGMENT_PC_TRUNCATED 1u /* "[truncated]": root of a stack that was cut */
#define SEGMENT_PC_OVERFLOW 2u  /* "[cprof: memory limit]": samples that could not be kept apart */
#define SEGMENT_PC_FIRST 3u
#define SEGMENT_NAME_TRUNCATED "[truncated]"
#define SEGMENT_NAME_OVERFLOW "[cprof: memory limit]"

/* A node of the call tree: the stack from the root to here. Node 0 is the root and has no pc of its own. */
struct segment_node {
    uint32_t parent; /* always smaller than the node's own index */
    uint32_t pc;     /* index in the pcs */
    uint32_t bucket; /* newest bucket of this stack; the others follow by `next`; 0: none */
    uint32_t child;  /* a child of this node, as a hint for the library; 0: none */
};

/* Blocks of one size that were asked for at one stack. */
struct segment_bucket {
    uint32_t node;
    uint32_t next; /* next bucket of the same node; always smaller than the bucket's own index; 0 ends */
    uint64_t size; /* bytes asked for */
};
/* Bucket 0: none. Bucket 1 is the library's own mark for blocks of its start-up arena and counts nothing. */
#define SEGMENT_BUCKET_ARENA 1u
#define SEGMENT_BUCKET_FIRST 2u

/* Samples for which there was no room (a region full, CPROF_MAX_MEMORY reached) are counted by size class: entry k
 * takes the sizes of k significant bits (0; 1; 2-3; 4-7; ...). Their frees are not known. */
#define SEGMENT_OVERFLOW_CLASSES 65u
struct segment_overflow {
    uint64_t allocs;
    uint64_t bytes;
};

struct segment_count {
    uint64_t allocs; /* sampled allocations; at rate 1 all of them */
    uint64_t frees;  /* how many of those blocks were freed since; read it before `allocs` and it is never more */
};

/* What one thread (or one after another in the same slot) has done; exact at every rate, but as of the thread's
 * last sample: the newest figures are private to the process. One cache line. */
struct segment_thread {
    uint64_t bytes; /* asked for by successful allocations */
    uint64_t calls; /* successful allocations */
    uint64_t samples;
    uint64_t unused[5];
};

struct segment_extent {
    uint64_t offset;     /* from the start of the segment, a multiple of the page size */
    uint64_t entry_size; /* bytes */
    uint64_t capacity;   /* entries that fit */
    uint64_t used;       /* entries handed out, the reserved ones included; may pass `capacity` when that was reached */
};

enum segment_state {
    SEGMENT_STARTING = 0,
    SEGMENT_LIVE = 1,
    SEGMENT_WRITTEN = 2, /* the profile at `out` is complete: nothing left to recover */
    SEGMENT_FAILED = 3,  /* it could not be written, and the process has said so */
};

struct segment_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_size;    /* sizeof(struct segment_header) */
    uint64_t size;           /* bytes of the whole segment, holes included */
    uint32_t state;          /* enum segment_state */
    uint32_t private_memory; /* not 0: part of the regions is memory of the process alone, so a reader outside sees
                                zeros there; the profile the process writes itself is whole */

    /* Whose. A pid is only taken for this process if the start time agrees. */
    uint32_t pid;
    uint32_t uid;
    uint64_t start_ticks;   /* field 22 of /proc/PID/stat */
    uint64_t start_wall_ns; /* CLOCK_REALTIME when profiling began */
    uint64_t start_mono_ns; /* CLOCK_MONOTONIC at the same moment */
    char name[64];          /* file name of the executable, cut if longer */

    /* Settings that a reader needs to make sense of the rest. */
    uint64_t rate;  /* mean bytes between samples; 1: everything */
    uint32_t depth; /* most frames kept */
    uint32_t dumps; /* dumps begun so far: the next one's %n */
    uint32_t out;   /* offset in the strings: absolute name of the profile that the exit would write; 0: none yet */
    uint32_t drop_frames; /* offset in the strings of CPROF_DROP_FRAMES; 0: none */
    uint32_t allocator;   /* offset in the strings: the object that serves malloc; 0: not found out */
    uint32_t note;        /* offset in the strings: why little or nothing may be seen, one line; 0: nothing to say */

    /* Blocks that a fork brought along: buckets below this index hold those alone, each with as many `allocs`
     * as were in use then. 0 in a process that was not forked under profiling. */
    uint32_t inherited_buckets;
    uint32_t parent_pid;

    /* Totals that are not in any thread's slot. */
    uint64_t other_bytes;
    uint64_t other_calls;

    /* Self-accounting. */
    uint64_t dropped;      /* samples that left no trace but here (no memory for anything) */
    uint64_t truncated;    /* samples whose stack was cut */
    uint64_t own_bytes;    /* memory that the library holds for itself, the segment included */
    uint64_t peak_bytes;   /* highest sum of sampled bytes in use seen (unbiased by the reader) */
    uint64_t peak_mono_ns; /* when */
    uint64_t peak_version; /* odd while the peak region is being replaced */

    struct segment_overflow overflow[SEGMENT_OVERFLOW_CLASSES];

    uint32_t shard_buckets[SEGMENT_SHARDS]; /* for how many buckets each shard of SEGMENT_COUNTS has memory */

    struct segment_extent region[SEGMENT_REGIONS];
};

_Static_assert(sizeof(struct segment_header) <= SEGMENT_PAGE, "the header is one page");
_Static_assert(sizeof(struct segment_node) == 16 && sizeof(struct segment_pc) == 16 &&
                   sizeof(struct segment_bucket) == 16 && sizeof(struct segment_count) == 16 &&
                   sizeof(struct segment_thread) == 64 && sizeof(struct segment_module) == 56,
               "the layout is the same for every reader");

#endif
