/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: memory-limited (vm.max_map_count reached; 60000 lines in /proc/self/maps)
 * Report: https://github.com/flowlog-rs/flowlog/pull/177
 * Symptom: the allocator's mmap fails although memory is free, since the process may have no more mappings: abort
 * Right: exit 5 within 20 s, stdout "ok". The program makes mappings until the kernel refuses, gives 4 back, and
 *     allocates small blocks (served from the heap it has) from 8000 stacks. A profiler that cannot grow its tables
 *     drops samples quietly. The profile lists the mappings of files, not 65000 anonymous ones; reading maps at the
 *     dump is not quadratic.
 *
 * EXPECT exit 5
 * EXPECT timeout 30
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

NOINLINE static void *b1(unsigned b, int d);

NOINLINE static void *b0(unsigned b, int d) {
    void *p = d ? (b & 1 ? b1(b >> 1, d - 1) : b0(b >> 1, d - 1)) : malloc(24);
    KEEP(p);
    return p;
}

NOINLINE static void *b1(unsigned b, int d) {
    void *p = d ? (b & 1 ? b1(b >> 1, d - 1) : b0(b >> 1, d - 1)) : malloc(24);
    KEEP(p);
    return p;
}

int main(void) {
    void *room = malloc(100000);
    KEEP(room);
    free(room);
    char *m = mmap(NULL, 80000ul * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        return 1;
    long n = 0;
    while (n < 80000 && mprotect(m + n * 8192, 4096, PROT_READ) == 0)
        n++; /* each makes two more */
    if (n < 1000)
        return 2;
    for (int i = 0; i < 4; i++)
        mprotect(m + (n - 1 - i) * 8192, 4096, PROT_NONE);
    for (unsigned i = 0; i < 8000; i++) {
        void *p = b0(i, 13);
        if (!p)
            return 3;
        free(p);
    }
    if (write(1, "ok\n", 3) != 3)
        return 4;
    return 5;
}
