/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dlclose, and another library at the same address
 * Symptom: addresses of a library that is gone are named by the one that took its place
 * Right: exit 0, stdout "ok": two plugins of the same size and layout are loaded in turn, 20 times each, at the address
 *     both were linked for; what each allocated is in its own functions' names, with nothing in the other's.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN=first_plugin_leaf -DSIZE=33 -Wl,-Ttext-segment=0x200000000000 $SRC -o $BIN.1.so
 * BUILD $CC -shared -fPIC -DPLUGIN=other_plugin_leaf -DSIZE=44 -Wl,-Ttext-segment=0x200000000000 $SRC -o $BIN.2.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.%d.so\""
 * EXPECT func first_plugin_leaf 2000 66000 1000 33000
 * EXPECT func other_plugin_leaf 2000 88000 1000 44000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#ifdef PLUGIN
NOINLINE static void *PLUGIN(void) {
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
    void *seen = NULL;
    for (int round = 0; round < 40; round++) {
        char path[4096];
        snprintf(path, sizeof path, SO, 1 + round % 2);
        void *h = dlopen(path, RTLD_NOW);
        void *(*make)(void) = h ? (void *(*)(void))dlsym(h, "plugin_make") : NULL;
        if (!make)
            return 1;
        same += (void *)make == seen;
        seen = (void *)make;
        for (int i = 0; i < 50; i++) {
            held[n++] = make();
            free(make());
        }
        if (dlclose(h))
            return 2;
    }
    return n == 2000 && same == 39 ? say_ok() : 3;
}
#endif
