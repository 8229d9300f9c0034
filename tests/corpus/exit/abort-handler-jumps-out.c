/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (a SIGABRT handler that does not return)
 * Symptom: a tool that ends its work when abort() is called has nothing more to say of a program that survives it
 * Right: exit 0, stdout "ok": 20 times abort() is left by siglongjmp from the handler, and the program goes on; the
 *     profile holds what came later.
 *
 * EXPECT profiles 1
 * EXPECT func after_abort 20 400 0 0
 */
#include "tests/corpus/case.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf back;

static void survive(int number) {
    siglongjmp(back, number);
}

NOINLINE static void *after_abort(void) {
    void *p = malloc(20);
    KEEP(p);
    return p;
}

int main(void) {
    signal(SIGABRT, survive);
    for (volatile int i = 0; i < 20; i++) {
        if (!sigsetjmp(back, 1))
            abort();
        free(after_abort());
    }
    return say_ok();
}
