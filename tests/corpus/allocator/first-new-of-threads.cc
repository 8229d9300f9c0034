/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: operator new of an allocator (jemalloc) as the first allocation of threads that begin at the same time
 * Symptom: some of them are lost, from the totals too
 * Right: exit 0, stdout "ok": each of 8,000 threads allocates one block by operator new, and each is counted
 *
 * NEEDS link -l:libjemalloc.so.2
 * BUILD $CXX $SRC -o $BIN -pthread -Wl,--no-as-needed -l:libjemalloc.so.2
 * EXPECT under by_new 8000 800000 0 0
 * EXPECT timeout 30
 * EXPECT timing
 */
#include "tests/corpus/case.h"
#include <new>
#include <pthread.h>
NOINLINE static void *by_new() {
    void *p = operator new(100);
    KEEP(p);
    return p;
}
static void *run(void *x) {
    operator delete(by_new());
    return x;
}
int main() {
    for (int i = 0; i < 2000; i++) {
        pthread_t t[4];
        for (auto &x : t)
            if (pthread_create(&x, 0, run, 0))
                return 3;
        for (auto &x : t)
            pthread_join(x, 0);
    }
    return say_ok();
}
