/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed mix of blocks from 16 bytes to 4 MiB, for estimate.t. Prints for each function a line
 *
 *     truth FUNCTION SIZE BLOCKS KEPT
 *
 * for each of its sizes. Nothing is touched, so large blocks cost nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noipa)) static

static void *volatile block;

/* Allocates `n` blocks; of each eight the first `keep` are kept. */
#define FUNCTION(name)                                                                                                 \
    SITE void name(size_t size, size_t n, size_t keep) {                                                               \
        for (size_t i = 0; i < n; i++) {                                                                               \
            block = malloc(size);                                                                                      \
            if (i % 8 >= keep)                                                                                         \
                free(block);                                                                                           \
        }                                                                                                              \
    }
FUNCTION(tiny)
FUNCTION(small)
FUNCTION(pages)
FUNCTION(large)
FUNCTION(mixed)
FUNCTION(temporary)

static const struct {
    const char *name;
    void (*allocate)(size_t size, size_t n, size_t keep);
    size_t size, n, keep;
} mix[] = {
    {"tiny", tiny, 16, 80000, 2},           {"small", small, 200, 40000, 4},         {"pages", pages, 4096, 4000, 1},
    {"large", large, 524288, 40, 4},        {"large", large, 4194304, 8, 4},         {"mixed", mixed, 24, 20000, 8},
    {"mixed", mixed, 1000, 3000, 4},        {"mixed", mixed, 65536, 80, 2},          {"mixed", mixed, 1048576, 8, 3},
    {"temporary", temporary, 64, 50000, 0}, {"temporary", temporary, 30000, 400, 0},
};

int main(int argc, char **argv) {
    int tell = argc > 1 && strcmp(argv[1], "--tell") == 0;
    for (size_t i = 0; i < sizeof mix / sizeof *mix; i++) {
        mix[i].allocate(mix[i].size, mix[i].n, mix[i].keep);
        if (tell)
            printf("truth %s %zu %zu %zu\n", mix[i].name, mix[i].size, mix[i].n, mix[i].n / 8 * mix[i].keep);
    }
    return 0;
}
