/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dlclose'd libraries whose frames are in the profile
 * Report: https://github.com/gperftools/gperftools/issues/543
 * Symptom: symbols of a library that was unloaded before the dump are missing: mappings are read only at the dump
 * Right: exit 0, stdout "ok". The plugin leaves 100 blocks behind and is unloaded; its function unloaded_leaf must be
 *     named in the profile (mapping remembered from the time of the sample), and no other library's name may stand in
 *     its place.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT timeout 5
 * EXPECT func unloaded_leaf 200 6600 100 3300
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#ifdef PLUGIN
NOINLINE static void *unloaded_leaf(void) {
    void *p = malloc(33);
    KEEP(p);
    return p;
}

void plug_go(void **out) {
    for (int i = 0; i < 100; i++) {
        out[i] = unloaded_leaf();
        free(unloaded_leaf());
    }
}
#else
#include <dlfcn.h>

static void *keep[100];

int main(void) {
    void *h = dlopen(SO, RTLD_NOW);
    if (!h)
        return 1;
    ((void (*)(void **))dlsym(h, "plug_go"))(keep);
    if (dlclose(h) || dlopen(SO, RTLD_NOW | RTLD_NOLOAD))
        return 2;
    for (int i = 0; i < 100; i++)
        if (!keep[i])
            return 3;
    return say_ok();
}
#endif
