/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: thread_local destructors freeing
 * Report: https://github.com/microsoft/mimalloc/issues/809
 * Symptom: a thread's end runs clean-up that frees memory after the tool's per-thread state is already gone: crash
 * Right: exit 0, stdout "ok". 200 threads; each has a thread_local vector (freed in __call_tls_dtors), a pthread key
 *     whose destructor frees (later), and a detached last free after both, by glibc itself.
 *
 * BUILD $CXX -pthread $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func key_block 200 60000 0 0
 * EXPECT func dtor_block 200 14000 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <vector>

static pthread_key_t key;
static int ran;

extern "C" NOINLINE void *key_block() {
    void *p = malloc(300);
    KEEP(p);
    return p;
}

extern "C" NOINLINE void *dtor_block() {
    void *p = malloc(70);
    KEEP(p);
    return p;
}

static void on_key(void *p) {
    free(p);
    free(dtor_block());
    __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
}

struct T {
    std::vector<std::string> v;

    ~T() {
        v.clear();
        v.shrink_to_fit();
        __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST);
    }
};

static thread_local T t;

static void *run(void *) {
    pthread_setspecific(key, key_block());
    for (int i = 0; i < 20; i++)
        t.v.push_back(std::string(100, 'a'));
    return (void *)strerror(12345); /* glibc: per-thread text, freed after the key destructors */
}

int main() {
    pthread_key_create(&key, on_key);
    for (int r = 0; r < 20; r++) {
        pthread_t th[10];
        for (auto &x : th)
            pthread_create(&x, nullptr, run, nullptr);
        for (auto &x : th)
            pthread_join(x, nullptr);
    }
    if (ran != 400)
        return 1;
    return say_ok();
}
