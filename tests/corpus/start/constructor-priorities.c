/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up order (constructors and destructors with priorities)
 * Symptom: a tool whose own state is built by a constructor meets the program's, which run before it or after its
 *     destructor
 * Right: exit 0, stdout "ok": constructors of a library and of the program, with and without priority, allocate;
 *     destructors in the opposite order free and allocate. All of it is counted.
 *
 * BUILD $CC -shared -fPIC -DLIB $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN -Wl,--no-as-needed $BIN.so -Wl,-rpath,'$ORIGIN'
 * EXPECT func built_first 10 100 0 0
 * EXPECT func built_last 10 200 0 0
 * EXPECT func built_in_library 10 300 0 0
 * EXPECT func torn_down 20 800 0 0
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#ifdef LIB
static void *held[10];

NOINLINE static void *built_in_library(void) {
    void *p = malloc(30);
    KEEP(p);
    return p;
}

__attribute__((constructor(101))) static void build(void) {
    for (int i = 0; i < 10; i++)
        held[i] = built_in_library();
}

__attribute__((destructor(101))) static void tear_down(void) {
    for (int i = 0; i < 10; i++)
        free(held[i]);
    say_ok();
}
#else
static void *first[10], *last[10];

NOINLINE static void *built_first(void) {
    void *p = malloc(10);
    KEEP(p);
    return p;
}

NOINLINE static void *built_last(void) {
    void *p = malloc(20);
    KEEP(p);
    return p;
}

NOINLINE static void *torn_down(void) {
    void *p = malloc(40);
    KEEP(p);
    return p;
}

__attribute__((constructor(101))) static void build_first(void) {
    for (int i = 0; i < 10; i++)
        first[i] = built_first();
}

__attribute__((constructor)) static void build_last(void) {
    for (int i = 0; i < 10; i++)
        last[i] = built_last();
}

__attribute__((destructor)) static void tear_down_first(void) {
    for (int i = 0; i < 10; i++) {
        free(last[i]);
        free(torn_down());
    }
}

__attribute__((destructor(101))) static void tear_down_last(void) {
    for (int i = 0; i < 10; i++) {
        free(first[i]);
        free(torn_down());
    }
}

int main(void) {
    return first[9] && last[9] ? 0 : 1;
}
#endif
