/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: RLIMIT_AS / memory-limited (profile when memory has run out)
 * Report: https://github.com/gperftools/gperftools/issues/68
 * Symptom: when the program runs out of memory the profiler cannot allocate either: it aborts, or leaves an empty file
 * Right: exit 3, stdout "oom": under a limit of "address space in use at main + 64 MiB" the program allocates 1 MiB
 *     blocks until NULL (errno ENOMEM), then 64-byte blocks until NULL, and exits without freeing. The profiler never
 *     aborts or exits the program; the profile is written (memory for it set aside at start) or absent, never empty.
 *
 * EXPECT exit 3
 * EXPECT stdout oom
 * EXPECT timeout 20
 * EXPECT func eat_big 10..64 10485760..67108864 10..64 10485760..67108864 | 0 0 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

NOINLINE static void *eat_big(void) {
    void *p = malloc(1 << 20);
    KEEP(p);
    return p;
}

NOINLINE static void *eat_small(void) {
    void *p = malloc(64);
    KEEP(p);
    return p;
}

int main(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%lu", &pages) != 1)
        return 1;
    fclose(f);
    struct rlimit l = {pages * 4096 + (64ul << 20), pages * 4096 + (64ul << 20)};
    if (setrlimit(RLIMIT_AS, &l))
        return 2;
    int n = 0;
    errno = 0;
    while (eat_big())
        n++;
    if (errno != ENOMEM || n < 10)
        return 4;
    errno = 0;
    while (eat_small()) {
    }
    if (errno != ENOMEM)
        return 5;
    return write(1, "oom\n", 4) == 4 ? 3 : 6;
}
