/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up (a library's constructor starts a thread that allocates while the rest is initialized)
 * Symptom: a tool that takes the first thread it sees for the main one, or initializes without regard to others,
 *     crashes or loses counts
 * Right: exit 0, stdout "ok": three threads started by a constructor allocate while main begins; all is counted.
 *
 * BUILD $CC -shared -fPIC -pthread -DLIB $SRC -o $BIN.so
 * BUILD $CC -pthread $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT timing
 * EXPECT func early_thread 90000 4320000 0 0
 * EXPECT func in_main 30000 960000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

#ifdef LIB
static pthread_t threads[3];

NOINLINE static void *early_thread(void) {
    void *p = malloc(48);
    KEEP(p);
    return p;
}

static void *run(void *unused) {
    for (int i = 0; i < 30000; i++)
        free(early_thread());
    return unused;
}

__attribute__((constructor)) static void start(void) {
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, NULL);
}

void wait_for_them(void);

void wait_for_them(void) {
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}
#else
void wait_for_them(void);

NOINLINE static void *in_main(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 30000; i++)
        free(in_main());
    wait_for_them();
    return say_ok();
}
#endif
