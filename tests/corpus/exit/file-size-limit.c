/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: limits (RLIMIT_FSIZE with SIGXFSZ at its default)
 * Symptom: the tool's own writes exceed the limit on the size of files, and the signal for that kills the program
 * Right: exit 5, stdout "ok": under a limit of 4096 bytes the program allocates from 65536 stacks, whose records and
 *     profile are larger, and ends as it wants to. No SIGXFSZ, which it would notice.
 *
 * EXPECT exit 5
 * EXPECT timeout 20
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

NOINLINE static void *one(unsigned bits, int depth);

NOINLINE static void *zero(unsigned bits, int depth) {
    void *p = depth ? (bits & 1 ? one(bits >> 1, depth - 1) : zero(bits >> 1, depth - 1)) : malloc(24);
    KEEP(p);
    return p;
}

NOINLINE static void *one(unsigned bits, int depth) {
    void *p = depth ? (bits & 1 ? one(bits >> 1, depth - 1) : zero(bits >> 1, depth - 1)) : malloc(24);
    KEEP(p);
    return p;
}

int main(void) {
    struct rlimit limit = {4096, 4096};
    struct sigaction now;
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 1;
    for (unsigned i = 0; i < 65536; i++)
        free(zero(i, 16));
    if (sigaction(SIGXFSZ, NULL, &now) || now.sa_handler != SIG_DFL)
        return 2;
    return say_ok() ? 3 : 5;
}
