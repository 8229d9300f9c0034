/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: a library that is closed without a dlclose that could be seen, and another one at the same address
 * Symptom: addresses of the new library are named by the old one, and walked by its unwind tables
 * Right: exit 0, stdout "ok": two plugins of the same size are loaded in turn, 20 times each, at the address both were linked
 *     for, and closed by libc's own function, as libc does with its modules for character sets; what each allocated is in its
 *     own functions' names, with nothing in the other's. (Their calls are at different places within them.)
 *
 * BUILD $CC -shared -fPIC -DPLUGIN=first_plugin_leaf -DSIZE=33 -DPLACE= -Wl,-Ttext-segment=0x200000000000 $SRC -o $BIN.1.so
 * BUILD $CC -shared -fPIC -DPLUGIN=other_plugin_leaf -DSIZE=44 -DPLACE=".skip 64,0x90" -Wl,-Ttext-segment=0x200000000000 $SRC -o $BIN.2.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.%d.so\""
 * EXPECT func first_plugin_leaf 2000 66000 1000 33000
 * EXPECT func other_plugin_leaf 2000 88000 1000 44000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#ifdef PLUGIN
#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define TEXT_OF(...) #__VA_ARGS__

NOINLINE static void *PLUGIN(void) {
    __asm__ volatile(TEXT(PLACE)); /* of the calls behind it */
    void *p = malloc(SIZE);
    KEEP(p);
    return p;
}

void *plugin_make(void) {
    void *p = PLUGIN();
    KEEP(p);
    return p;
}
#else
#include <dlfcn.h>
#include <stdio.h>

static void *held[2000];

int main(void) {
    int n = 0, same = 0;
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    int (*close_unseen)(void *) = libc ? (int (*)(void *))dlsym(libc, "dlclose") : NULL;
    size_t seen = 0;
    for (int round = 0; round < 40; round++) {
        char path[4096];
        snprintf(path, sizeof path, SO, 1 + round % 2);
        void *h = dlopen(path, RTLD_NOW);
        void *(*make)(void) = h ? (void *(*)(void))dlsym(h, "plugin_make") : NULL;
        if (!make || !close_unseen)
            return 1;
        same += (size_t)make / 4096 == seen; /* the page */
        seen = (size_t)make / 4096;
        for (int i = 0; i < 50; i++) {
            held[n++] = make();
            free(make());
        }
        if (close_unseen(h))
            return 2;
    }
    return n == 2000 && same == 39 ? say_ok() : 3;
}
#endif
