/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up recursion (thread_local registration -> __cxa_thread_atexit_impl -> calloc)
 * Report: https://github.com/geofft/redhook/issues/15
 * Symptom: the hook's own thread-local is registered with libc, which callocs, which enters the hook: endless
 * Right: exit 0, stdout "ok". Each of 64 threads' very first allocation is the calloc made by libc while registering a
 *     thread_local destructor; the destructor then frees 10 blocks.
 *
 * BUILD $CXX -pthread $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func tl_fill 640 64000 0 0
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static int gone;

struct Holder {
    void *b[10] = {};
    int live = 1;

    ~Holder() {
        for (void *p : b)
            free(p);
        __atomic_add_fetch(&gone, 1, __ATOMIC_SEQ_CST);
    }
};

static thread_local Holder h;

extern "C" NOINLINE void tl_fill(Holder *x) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(100);
        KEEP(p);
        x->b[i] = p;
    }
}

static void *run(void *) {
    tl_fill(&h);
    return nullptr;
}

int main() {
    for (int r = 0; r < 8; r++) {
        pthread_t t[8];
        for (auto &x : t)
            pthread_create(&x, nullptr, run, nullptr);
        for (auto &x : t)
            pthread_join(x, nullptr);
    }
    if (gone != 64)
        return 1;
    return say_ok();
}
