/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dl_iterate_phdr deadlock (deterministic: the callback waits for a thread that allocates)
 * Symptom: a hook that unwinds by dl_iterate_phdr waits for the lock that the program's own call of it holds
 * Right: exit 0, stdout "ok" at once: the callback, with the loader's lock held, starts and joins a thread that
 *     allocates from new stacks.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT func meanwhile 200 8000 0 0
 */
#include "tests/corpus/case.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>

NOINLINE static void *meanwhile(int depth) {
    void *p = depth ? meanwhile(depth - 1) : malloc(40);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    for (int i = 0; i < 200; i++)
        free(meanwhile(i % 40));
    return arg;
}

static int callback(struct dl_phdr_info *info, size_t size, void *data) {
    pthread_t t;
    (void)info;
    (void)size;
    return pthread_create(&t, NULL, run, data) || pthread_join(t, NULL) ? -1 : 1;
}

int main(void) {
    return dl_iterate_phdr(callback, NULL) == 1 ? say_ok() : 1;
}
