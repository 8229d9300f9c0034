/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (crash in an atexit handler)
 * Report: https://github.com/DataDog/dd-trace-dotnet/pull/7657
 * Symptom: the profiler keeps working while the program crashes: crash upon crash, zombie processes
 * Right: status 139 (SIGSEGV, not turned into another one) at once, stdout "ok". The atexit handler allocates and then
 *     writes through a wild pointer. Profile: absent or whole.
 *
 * EXPECT exit 139
 * EXPECT timeout 5
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void bad(void) {
    void *p = malloc(100);
    KEEP(p);
    (void)!write(1, "ok\n", 3);
    volatile int *w = (volatile int *)16;
    *w = 1;
}

int main(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    atexit(bad);
    for (int i = 0; i < 100; i++) {
        void *p = malloc(64);
        KEEP(p);
    }
    return 0;
}
