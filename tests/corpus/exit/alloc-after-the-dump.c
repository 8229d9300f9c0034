/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: destructors / atexit order (allocations and frees after the dump)
 * Report: https://github.com/gperftools/gperftools/issues/925
 * Symptom: the "exiting" profile is taken before the program's own static destructors have run
 * Right: exit 0, stdout "ok". Order of the program's end: atexit handler, executable's destructors, library's
 *     destructors; every one frees 100 blocks made in main and allocates and frees 10. The profile is written after all
 *     of them: nothing of in_main is in use, and there is one file.
 *
 * BUILD $CC -shared -fPIC -DLIB $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT timeout 5
 * EXPECT func in_main 300 30000 0 0
 * EXPECT func tail 20 880 0 0
 * EXPECT func lib_tail 10 330 0 0
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <unistd.h>
#ifdef LIB
void *lib_blk[100];

NOINLINE static void lib_tail(void) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(33);
        KEEP(p);
        free(p);
    }
}

__attribute__((destructor)) static void lib_fini(void) {
    for (int i = 0; i < 100; i++)
        free(lib_blk[i]);
    lib_tail();
    (void)!write(1, "ok\n", 3);
}
#else
extern void *lib_blk[100];
static void *a[100], *b[100];

NOINLINE static void *in_main(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

NOINLINE static void tail(void) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(44);
        KEEP(p);
        free(p);
    }
}

static void at(void) {
    for (int i = 0; i < 100; i++)
        free(a[i]);
    tail();
}

__attribute__((destructor)) static void fini(void) {
    for (int i = 0; i < 100; i++)
        free(b[i]);
    tail();
}

int main(void) {
    atexit(at);
    for (int i = 0; i < 100; i++) {
        a[i] = in_main();
        b[i] = in_main();
        lib_blk[i] = in_main();
    }
    return 0;
}
#endif
