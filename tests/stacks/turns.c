/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that look alike: `turns ROUNDS` comes to the same few functions, at the same stack pointers, by paths that take
 * turns, so that a walk finds much of another one's stack under its own. Built without frame pointers: rbp is the frame's
 * base in some functions, and in others anything. */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MAX_DEPTH 24

struct path {
    unsigned depth;
    uint8_t turn[MAX_DEPTH]; /* which function each level calls, and with what */
};

static unsigned long allocated;

static uint64_t random_next(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

static NOINLINE void step(const struct path *p, unsigned level, uint64_t any);

/* rbp is what the frame is found by. */
static NOINLINE void sized(const struct path *p, unsigned level, uint64_t any) {
    volatile char *room = alloca(16 + 16 * (p->turn[level] >> 4));
    room[0] = (char)any;
    step(p, level + 1, any + (uint64_t)room[0]);
    room[0]++;
}

/* rbp, with every other register that a call leaves alone, holds a value that differs each time. */
static NOINLINE void busy(const struct path *p, unsigned level, uint64_t any) {
    uint64_t a = any * 3, b = any * 5, c = any ^ 7, d = any + level, e = any * 11, f = any >> 3, g = a ^ b;
    step(p, level + 1, random_next());
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f), "r"(g), "r"(any), "r"(p), "r"(level));
}

/* near() and far() leave filled() at the same stack pointer with another rbp, and don't write to their rooms: of each the
 * return address stays in memory while the other one is there. */
static NOINLINE void filled(const struct path *p, unsigned level, size_t room) {
    void *volatile at = alloca(room);
    step(p, level + 1, (uint64_t)room);
    __asm__ volatile("" : : "r"(at));
}
static NOINLINE void near(const struct path *p, unsigned level, uint64_t any) {
    void *volatile at = alloca(64);
    filled(p, level, 1024 - 64);
    __asm__ volatile("" : : "r"(at), "r"(any));
}
static NOINLINE void far(const struct path *p, unsigned level, uint64_t any) {
    void *volatile at = alloca(512);
    filled(p, level, 1024 - 512);
    __asm__ volatile("" : : "r"(at), "r"(any));
}

/* The rest is frames of the same size that save rbp in different places, or not at all, and change it. */
void saved_first(const struct path *p, unsigned level, uint64_t any);
void saved_last(const struct path *p, unsigned level, uint64_t any);
void not_saved(const struct path *p, unsigned level, uint64_t any);
__asm__(".text\n"
        "saved_first:\n"
        ".cfi_startproc\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
        "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "mov %rdx, %rbp\nxor %ebx, %ebx\ninc %esi\n"
        "call step\n"
        "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "pop %rbx\n.cfi_adjust_cfa_offset -8\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n"
        "ret\n.cfi_endproc\n"
        "saved_last:\n"
        ".cfi_startproc\n"
        "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
        "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "mov %rbp, %rbx\nmov %rdx, %rbp\ninc %esi\n"
        "call step\n"
        "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n"
        "pop %rbx\n.cfi_adjust_cfa_offset -8\n"
        "ret\n.cfi_endproc\n"
        "not_saved:\n"
        ".cfi_startproc\n"
        "sub $24, %rsp\n.cfi_adjust_cfa_offset 24\n"
        "mov %rbp, 16(%rsp)\nmov %rbp, 8(%rsp)\ninc %esi\n"
        "call step\n"
        "add $24, %rsp\n.cfi_adjust_cfa_offset -24\n"
        "ret\n.cfi_endproc\n");

static NOINLINE void leaf(uint64_t size) {
    void *volatile p = malloc(16 + size % 64);
    allocated++;
    free(p);
}

/* Called by the assembly above. */
__attribute__((used)) static NOINLINE void step(const struct path *p, unsigned level, uint64_t any) {
    static void (*const next[])(const struct path *, unsigned, uint64_t) = {sized,     busy, saved_first, saved_last,
                                                                            not_saved, near, far, near};
    if (level == p->depth)
        leaf(p->depth);
    else
        next[p->turn[level] & 7](p, level, any);
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    enum { PATHS = 48 };
    static struct path path[PATHS];
    for (int i = 0; i < PATHS; i++) {
        /* Most are another one with a single turn changed, near the leaf. */
        path[i] = path[i ? random_next() % (unsigned)i : 0];
        if (i % 8 == 0)
            for (int k = 0; k < MAX_DEPTH; k++)
                path[i].turn[k] = (uint8_t)random_next();
        path[i].depth = i % 8 ? path[i].depth : 4 + (unsigned)(random_next() % (MAX_DEPTH - 4));
        path[i].turn[path[i].depth - 1 - random_next() % 4] = (uint8_t)random_next();
    }
    for (long round = argc > 1 ? atol(argv[1]) : 1; round > 0; round--) {
        const struct path *p = &path[random_next() % PATHS];
        for (uint64_t times = 1 + random_next() % 3; times > 0; times--)
            step(p, 0, random_next());
    }
    printf("%lu\n", allocated);
}
