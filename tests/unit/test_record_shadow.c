/* SPDX-License-Identifier: Apache-2.0 */
/* The shadow map. Addresses are only numbers to it, so the tests use ranges of their own that nobody else has. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/record/memory.h"
#include "preload/record/shadow.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static unsigned filter(uintptr_t address) {
    return load_relaxed(shadow_filter_at(address));
}

static void test_granule(unsigned granule, uintptr_t base) {
    shadow_init(granule, 0);
    unsigned n = 4096 / granule;
    int put = 1, taken = 1, again = 1;
    for (unsigned i = 0; i < n; i++)
        put &= shadow_put(base + i * granule, 100 + i) == 0;
    ok(put, "granule %u: a block in each of a page's", granule);
    is(filter(base), n < 255 ? n : 255, "the filter counts them, up to 255");
    is(shadow_take(base + 4096), 0, "nothing in the next page");
    for (unsigned i = n; i-- > 0;) {
        taken &= shadow_take(base + i * granule) == 100 + i;
        again &= shadow_take(base + i * granule) == 0;
    }
    ok(taken, "each is taken out as it was put in");
    ok(again, "and is gone then");
    is(filter(base), n < 255 ? 0 : 255, "the filter is 0 again, or stays at 255 for good");
}

static void test_values(void) {
    const uintptr_t a = 0x111122220000;
    is(shadow_take(a), 0, "nothing there");
    is(shadow_put(a, 7), 0, "the first block at an address");
    is(shadow_put(a, 9), 7, "a second one: the first was given back unseen");
    is(filter(a), 1, "and counts no more for it");
    is(shadow_take(a), 9, "the newest is what is there");
    is(shadow_put(a, UINT32_MAX), 0, "the largest bucket");
    is(shadow_take(a), UINT32_MAX, "comes back whole");
    is(shadow_put(0, 3), 0, "address 0");
    is(shadow_take(0), 3, "is an address");
    is(shadow_put((1ul << 47) - 32, 4), 0, "the last address of all");
    is(shadow_take((1ul << 47) - 32), 4, "is one too");
    is(shadow_put(1ul << 47, 5), -1, "beyond, nothing can be remembered");
    is(shadow_take(1ul << 47), 0, "nor is anything found");
    is(shadow_take(UINTPTR_MAX), 0, "up to the end");
}

static void test_filter_shares(void) {
    /* Two pages with one byte of the filter: 64 Ki pages apart. */
    const uintptr_t a = 0x222200005000, b = a + (4096ul << SHADOW_FILTER_BITS);
    shadow_put(a, 5);
    shadow_put(b, 6);
    is(filter(a), 2, "two pages share a byte");
    is(shadow_take(b), 6, "the answers are told apart");
    is(filter(b), 1, "the byte is not 0 while there is one");
    shadow_take(a);
    is(filter(a), 0, "and then it is");
}

static uint64_t sum, blocks;
static void add(uint32_t bucket) {
    sum += bucket;
    blocks++;
}

static void test_each(void) {
    const uintptr_t base = 0x333300000000;
    uint64_t before, before_sum;
    sum = blocks = 0;
    shadow_each(add);
    before = blocks;
    before_sum = sum;
    for (uint32_t i = 0; i < 1000; i++)
        shadow_put(base + i * 1000003ul * 32, i + 1);
    sum = blocks = 0;
    shadow_each(add);
    ok(blocks == before + 1000 && sum == before_sum + 500500, "each block is called back for, wherever it is");
    for (uint32_t i = 0; i < 1000; i++)
        shadow_take(base + i * 1000003ul * 32);
    sum = blocks = 0;
    shadow_each(add);
    is(blocks, before, "and those that are gone are not");
}

static void test_no_memory(void) {
    const uintptr_t base = 0x444400000000;
    memory_limit = memory_own();
    is(shadow_put(base, 5), -1, "at the limit of memory nothing can be remembered");
    is(filter(base), 0, "and the filter knows of nothing");
    is(shadow_take(base), 0, "nor is there anything");
    memory_limit = UINT64_MAX;
    test_fail_syscall(SYS_mmap, ENOMEM, 0, TEST_ALWAYS);
    is(shadow_put(base + (1ul << 40), 5), -1, "nor where the kernel has no memory");
    int refused = 0;
    for (uintptr_t i = 0; i < 10000 && !refused; i++)
        refused = shadow_put(base + (i << 12), 5) < 0;
    ok(refused, "pages are used up then");
    test_fail_syscall(0, 0, 0, 0);
    is(shadow_put(base + (1ul << 40), 5), 0, "with memory again it can");
    is(shadow_take(base + (1ul << 40)), 5, "as if nothing had been");
    for (uintptr_t i = 0; i < 10000; i++)
        shadow_take(base + (i << 12));
}

/* Blocks live and die at random, as in a program: a model says what must be there. */
static void test_random_use(void) {
    enum { N = 4096, STEPS = 400000 };
    static uint32_t model[N];
    uint64_t state = test_seed();
    const uintptr_t base = 0x555500000000;
    int right = 1, kept = 1;
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t r = test_random(&state);
        unsigned at = (unsigned)(r % N);
        uintptr_t address = base + at * 32 * (at % 3 + 1ul) + ((uintptr_t)at << 20);
        if (r >> 32 & 1) {
            uint32_t bucket = (uint32_t)(r >> 40) | 1;
            right &= shadow_put(address, bucket) == model[at];
            model[at] = bucket;
        } else {
            right &= shadow_take(address) == model[at];
            model[at] = 0;
        }
        kept &= !model[at] || filter(address) != 0;
    }
    for (unsigned at = 0; at < N; at++)
        shadow_take(base + at * 32 * (at % 3 + 1ul) + ((uintptr_t)at << 20));
    ok(right, "%d puts and takes, each answered as a plain array does", STEPS);
    ok(kept, "the filter is never 0 where a block is");
}

/* Threads have blocks beside each other, in the same pages, some of which are new to all of them. */
enum { THREADS = 8, PAGES = 64, ROUNDS = 30 };
static uint32_t wrong[THREADS], zero[THREADS];
static uintptr_t shared_base;

static void use_pages(unsigned number) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = number; i < PAGES * 128; i += THREADS)
            wrong[number] += shadow_put(shared_base + i * 32, i + 1) != 0;
        for (unsigned i = number; i < PAGES * 128; i += THREADS) {
            zero[number] += filter(shared_base + i * 32) == 0;
            wrong[number] += shadow_take(shared_base + i * 32) != i + 1;
        }
    }
}

static void test_threads_beside(void) {
    uint32_t all = 0, zeros = 0;
    for (unsigned i = 0; i < 4; i++) {
        shared_base = 0x666600000000 + ((uintptr_t)i << 32);
        test_threads(THREADS, use_pages);
    }
    for (int i = 0; i < THREADS; i++) {
        all += wrong[i];
        zeros += zero[i];
    }
    is(all, 0, "threads at once: each finds its own blocks");
    is(zeros, 0, "and the filter is never 0 where one is");
    int clear = 1;
    for (unsigned i = 0; i < PAGES; i++)
        clear &= filter(shared_base + i * 4096) == 0;
    ok(clear, "nor anything but 0 when all are gone");
}

/* At rate 1, when every block is recorded. */
static void test_all(void) {
    shadow_init(32, 1);
    int ones = 1;
    for (uintptr_t page = 0; page < 1u << SHADOW_FILTER_BITS; page++)
        ones &= filter(page << 12) == 255;
    ok(ones, "with everything recorded the filter is all ones");
    shadow_put(0x777700000000, 3);
    is(shadow_take(0x777700000000), 3, "and the map answers");
    is(filter(0x777700000000), 255, "whatever is put in and taken out");
}

int main(void) {
    test_granule(32, 0x100000000000);
    test_granule(16, 0x11000fffe000);
    test_granule(8, 0x12000ffff000);
    test_granule(8, 0x7ffffffff000 - 4096); /* these leave bytes of the filter at 255, apart from those used below */
    shadow_init(32, 0);
    test_values();
    test_filter_shares();
    test_each();
    test_no_memory();
    test_random_use();
    test_threads_beside();
    test_all();
    return tap_done();
}
