/* SPDX-License-Identifier: Apache-2.0 */
/* Words that frames were found by, and whole stacks that are recognized by them. The "stack" is an array here. */
#include <sys/syscall.h>

#include "preload/record/known.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

#define FRAMES 100
static uintptr_t memory[8 * FRAMES];
static uintptr_t room[7 * FRAMES];
static struct words words;

static uintptr_t at(unsigned word) {
    return (uintptr_t)&memory[word];
}

/* The words of `frames` frames of 8 words: every third with bp beside the return address, every third with it elsewhere. */
static struct words_count note(unsigned frames) {
    struct words_count n = {0, 0};
    words = words_at(room, FRAMES);
    for (unsigned i = 0; i < frames; i++) {
        static const uint32_t slots[] = {2, 0, 5};
        uintptr_t cfa = at(8 * i + 7);
        n = words_add(&words, n, cfa, memory[8 * i + 6], slots[i % 3], slots[i % 3] ? memory[8 * i + 7 - slots[i % 3]] : 0);
    }
    return n;
}

static void test_words(void) {
    for (unsigned i = 0; i < 8 * FRAMES; i++)
        memory[i] = i * 0x10001;
    for (unsigned frames = 0; frames <= 21; frames++) {
        struct words_count n = note(frames);
        int whole = words_hold(&words, n), seen = 1, others = 1, first = 1;
        for (unsigned i = 0; i < 8 * frames; i++) {
            unsigned kind = i / 8 % 3, word = i % 8;
            int read = word == 6 || (kind == 0 && word == 5) || (kind == 2 && word == 2);
            memory[i] ^= 1ull << (i % 64);
            if (read) {
                seen &= !words_hold(&words, n);
                uint32_t ones = words_ones_hold(&words, n.ones), pairs = words_pairs_hold(&words, n.pairs);
                first &= kind == 0 ? ones == n.ones && pairs == i / 8 / 3
                                   : pairs == n.pairs && ones == i / 8 / 3 * 3 + (kind == 2) + (word == 2);
            } else {
                others &= words_hold(&words, n);
            }
            memory[i] ^= 1ull << (i % 64);
        }
        ok(whole && seen && others && first, "%u frames: each word that was read is seen to change, and no other", frames);
    }
}

/* Callers exist that count on the vector registers. */
static void test_registers(void) {
    struct words_count n = note(60);
    uint64_t before[4] = {1, 2, 3, 4}, after[4];
    uint32_t held;
    __asm__ volatile("movups (%0), %%xmm0\n\tmovups 16(%0), %%xmm1" : : "r"(before) : "memory");
    held = words_pairs_hold(&words, n.pairs);
    __asm__ volatile("movups %%xmm0, (%0)\n\tmovups %%xmm1, 16(%0)" : : "r"(after) : "memory");
    is(held, n.pairs, "twenty pairs are compared");
    ok(after[0] == 1 && after[1] == 2 && after[2] == 3 && after[3] == 4, "which leaves the vector registers as they were");
}

static struct known_stacks *k;

static struct stack_head stack(uintptr_t ip, uint32_t node, unsigned frames) {
    return (struct stack_head){.ip = ip, .sp = at(0), .bp = 1, .high = at(8 * FRAMES), .node = node, .words = note(frames)};
}
static uint32_t find(uintptr_t ip, uintptr_t bp) {
    const struct stack_head *h = known_find(k, ip, at(0), bp, at(8 * FRAMES));
    return h ? h->node : 0;
}
static void offer(const struct stack_head *h, int times) {
    for (int i = 0; i < times; i++)
        known_offer(k, h, &words);
}

static void test_find(void) {
    k = known_make();
    struct stack_head h = stack(100, 7, 10);
    is(find(100, 1), 0, "nothing is known at first");
    offer(&h, 1);
    is(find(100, 1), 0, "nor what came once");
    offer(&h, 1);
    is(find(100, 1), 7, "what came twice is");
    is(find(101, 1), 0, "not at another address");
    is(find(100, 2), 0, "nor with another bp");
    ok(!known_find(k, 100, at(1), 1, at(8 * FRAMES)), "nor at another sp");
    ok(!known_find(k, 100, at(0), 1, at(8 * FRAMES - 1)), "nor if its words can't all be read");
    memory[6]++;
    is(find(100, 1), 0, "nor after one of its words changed");
    struct stack_head other = stack(100, 8, 10);
    offer(&other, 2);
    is(find(100, 1), 8, "another one with the same innermost frame");
    memory[6]--;
    is(find(100, 1), 7, "and the first one again");
    memory[8 * 9 + 6]++;
    is(find(100, 1), 0, "whichever word it is");
    memory[8 * 9 + 6]--;
    h = stack(102, 9, 10);
    h.any_bp = 1;
    offer(&h, 2);
    is(find(102, 12345), 9, "any bp where none is needed");
    h.cut = 1;
    h.ip = 103;
    offer(&h, 2);
    ok(known_find(k, 103, at(0), 1, at(8 * FRAMES))->cut, "whether it was cut");
    known_forget(k);
    ok(!find(100, 1) && !find(102, 1), "all of it can be forgotten");
}

/* More than fits: it is forgotten, and room is made for new ones; when none of those is met again, for few. */
static void test_room(void) {
    k = known_make();
    unsigned most = 0, now = 0;
    for (uint32_t i = 1; i <= 20000; i++) {
        struct stack_head h = stack(i, i, 30);
        offer(&h, 2);
        now = find(i, 1) == i ? now + 1 : 0; /* met once each, so this goes on */
        most = now > most ? now : most;
    }
    ok(most > 50 && most < 1000, "%u stacks fit", most);
    unsigned kept = 0;
    known_forget(k);
    for (uint32_t i = 1; i <= 20000; i++) {
        struct stack_head h = stack(i, i, 30);
        offer(&h, 2);
        if (i % 100 == 0)
            kept += find(i, 1) == i;
    }
    ok(kept > 0 && kept < 100, "of stacks that don't come again few are kept: %u of 200 looked for", kept);
}

static void test_faults(void) {
    test_fail_syscall(SYS_mmap, 12, 0, 1);
    ok(!known_make(), "no memory");
    int made = 2; /* above */
    while (made < 1000 && known_make())
        made++;
    is(made, 64, "for so many threads");
}

int main(void) {
    test_words();
    test_registers();
    test_find();
    test_room();
    test_faults();
    return tap_done();
}
