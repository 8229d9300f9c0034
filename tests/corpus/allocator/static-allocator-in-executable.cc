/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: program linked with an allocator statically (tcmalloc inside the executable)
 * Report: https://github.com/sharkdp/fd/issues/2121
 * Symptom: preloading over a program that contains its own allocator crashes it at once
 * Right: exit 0, stdout "ok", 4 threads, C and C++ interfaces mixed. malloc of the executable wins over the preload's,
 *     so the profile may be empty; what must not happen is one entry point (reallocarray, aligned_alloc, pvalloc,
 *     malloc_usable_size) taken from the preload while the rest is tcmalloc's.
 *
 * BUILD $CXX -pthread $SRC -o $BIN -Wl,--whole-archive -l:libtcmalloc_minimal.a -Wl,--no-whole-archive
 * NEEDS link -l:libtcmalloc_minimal.a -lstdc++ -lm -pthread
 * EXPECT timeout 10
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <pthread.h>
#include <string>
#include <vector>

static void *run(void *a) {
    for (int i = 0; i < 2000; i++) {
        void *p = aligned_alloc(64, 640);
        KEEP(p);
        void *q = reallocarray(nullptr, 10, 20);
        KEEP(q);
        q = realloc(q, 3000);
        KEEP(q);
        char *s = strdup("text");
        KEEP(s);
        std::vector<std::string> v(10, std::string(100, 'v'));
        void *w = memalign(4096, 100);
        KEEP(w);
        if (!p || !q || !s || !w || malloc_usable_size(p) < 640 || malloc_usable_size(q) < 3000 || v[9].size() != 100)
            return (void *)1;
        free(p);
        free(q);
        free(s);
        free(w);
    }
    return a;
}

int main() {
    pthread_t t[4];
    void *r;
    for (auto &x : t)
        pthread_create(&x, nullptr, run, nullptr);
    for (auto &x : t) {
        pthread_join(x, &r);
        if (r)
            return 1;
    }
    return say_ok();
}
