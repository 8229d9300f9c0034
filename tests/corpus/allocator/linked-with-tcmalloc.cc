/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: program linked with tcmalloc
 * Symptom: operators of C++ and malloc come from one library, and the tool serves one of them from another
 * Right: exit 0, stdout "ok": malloc, new and their frees in all combinations, in 4 threads; all blocks are tcmalloc's,
 *     and all are counted.
 *
 * NEEDS link -ltcmalloc_minimal
 * BUILD $CXX -pthread $SRC -o $BIN -Wl,--no-as-needed -ltcmalloc_minimal
 * EXPECT under mixed_malloc 8000 800000 0 0
 * EXPECT under mixed_new 8000 960000 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <pthread.h>

extern "C" NOINLINE void *mixed_malloc() {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

extern "C" NOINLINE void *mixed_new() {
    void *p = ::operator new(120);
    KEEP(p);
    return p;
}

static int (*ownership)(const void *);

static void *run(void *arg) {
    for (int i = 0; i < 2000; i++) {
        void *a = mixed_malloc(), *b = mixed_new();
        if (ownership && (ownership(a) != 1 || ownership(b) != 1))
            return (void *)1;
        if (i % 2) {
            ::operator delete(a);
            free(b);
        } else {
            free(a);
            ::operator delete(b);
        }
    }
    return arg;
}

int main() {
    pthread_t t[4];
    void *result;
    ownership = (int (*)(const void *))dlsym(RTLD_DEFAULT, "MallocExtension_GetOwnership");
    for (auto &one : t)
        pthread_create(&one, nullptr, run, nullptr);
    for (auto &one : t) {
        pthread_join(one, &result);
        if (result)
            return 1;
    }
    return say_ok();
}
