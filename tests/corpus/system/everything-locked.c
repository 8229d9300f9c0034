/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: limits (mlockall, now and in the future)
 * Symptom: large reservations of the tool become resident memory when the program locks all of its own, or can't be
 *     made any more
 * Right: exit 0, stdout "ok": a program that calls mlockall(MCL_CURRENT | MCL_FUTURE) and allocates from many stacks
 *     stays below 512 MiB of resident memory.
 *
 * NEEDS root
 * EXPECT timeout 30
 * EXPECT func while_locked 60000 1920000 0 0
 */
#include "tests/corpus/case.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

NOINLINE static void *while_locked(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

NOINLINE static void *one(unsigned bits, int depth);

NOINLINE static void *zero(unsigned bits, int depth) {
    void *p = depth ? (bits & 1 ? one(bits >> 1, depth - 1) : zero(bits >> 1, depth - 1)) : while_locked();
    KEEP(p);
    return p;
}

NOINLINE static void *one(unsigned bits, int depth) {
    void *p = depth ? (bits & 1 ? one(bits >> 1, depth - 1) : zero(bits >> 1, depth - 1)) : while_locked();
    KEEP(p);
    return p;
}

static long resident_pages(void) {
    char text[128] = "", *second;
    int fd = open("/proc/self/statm", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return 1l << 40;
    close(fd);
    strtol(text, &second, 10);
    return strtol(second, NULL, 10);
}

int main(void) {
    if (mlockall(MCL_CURRENT | MCL_FUTURE))
        _exit(77);
    for (unsigned i = 0; i < 60000; i++)
        free(zero(i * 2654435761u >> 8, 15));
    return resident_pages() < 512l << 8 ? say_ok() : 1;
}
