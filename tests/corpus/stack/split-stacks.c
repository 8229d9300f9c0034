/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: split stacks (-fsplit-stack)
 * Symptom: the stack pointer jumps from one segment to another between two frames, up or down
 * Right: exit 0, stdout "ok": a recursion on a split stack allocates at every depth, over many segments.
 *
 * NEEDS link -fsplit-stack
 * BUILD $CC -fsplit-stack -pthread $SRC -o $BIN
 * EXPECT func on_segment 20000 320000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

NOINLINE static void *on_segment(void) {
    void *p = malloc(16);
    KEEP(p);
    return p;
}

NOINLINE static int deep(int n) {
    char room[700];
    char *p = room;
    KEEP(p);
    free(on_segment());
    p[n % 700] = 1;
    int r = n ? deep(n - 1) + p[n % 700] : 0;
    KEEP(r);
    return r;
}

static void *run(void *arg) {
    for (int i = 0; i < 5; i++)
        if (deep(1999) != 1999)
            return (void *)1;
    return arg;
}

int main(void) {
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, &result);
    return result || run(NULL) ? 1 : say_ok();
}
