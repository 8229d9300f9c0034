/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: signal handlers (nested, each allocating)
 * Symptom: the tool has room for so many handlers in each other, or walks only one signal frame
 * Right: exit 0, stdout "ok": ten signals are raised by each other's handlers, each allocates before and after; stacks
 *     go through all of them to main.
 *
 * EXPECT func in_handler 2000 80000 0 0
 * EXPECT under raise_all 2000 80000 0 0
 * EXPECT stack in_handler<-handler<-handler<-handler<-handler<-raise_all<-main
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>

NOINLINE static void *in_handler(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

static void handler(int number) {
    free(in_handler());
    if (number < SIGRTMIN + 9)
        raise(number + 1);
    free(in_handler());
}

NOINLINE static int raise_all(void) {
    int result = raise(SIGRTMIN);
    KEEP(result);
    return result;
}

int main(void) {
    for (int i = 0; i < 10; i++)
        signal(SIGRTMIN + i, handler);
    for (int i = 0; i < 100; i++)
        if (raise_all())
            return 1;
    return say_ok();
}
