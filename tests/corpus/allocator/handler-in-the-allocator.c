/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: a signal handler that allocates, while an allocator for which that is no harm is at work
 * Symptom: the handler's blocks are taken for the allocator's own, and not counted
 * Right: exit 0, stdout "ok": 1,000 allocations are each interrupted by a handler that allocates 7 bytes; both
 *     are counted, the handler's at the handler, below what it interrupted
 *
 * BUILD $CC -shared -fPIC -DLIB -fno-builtin $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT func in_handler 1000 7000 1000 7000
 * EXPECT under leaf 2000 107000 1000 7000
 */
#include "tests/corpus/allocator/interrupted.h"
#include "tests/corpus/case.h"

#ifndef LIB
NOINLINE static void in_handler(int s) {
    (void)s;
    void *p = malloc(7);
    KEEP(p);
}
NOINLINE static void leaf(void) {
    void *p = malloc(100);
    KEEP(p);
    free(p);
}
int main(void) {
    signal(SIGUSR1, in_handler);
    for (int i = 0; i < 1000; i++) {
        raise_next = 1;
        leaf();
    }
    return say_ok();
}
#endif
