/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dlmopen (a second libc in the process)
 * Symptom: a library in another namespace has a malloc of its own; addresses of its code are taken for unknown, or its
 *     blocks for ours
 * Right: exit 0, stdout "ok": a plugin in three new namespaces allocates there, calls back into the program, and is
 *     closed again. What the program allocates is counted.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT func called_back 300 15000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#ifdef PLUGIN
void *plugin_call(void *(*back)(void));

void *plugin_call(void *(*back)(void)) {
    char *own = malloc(70);
    KEEP(own);
    void *p = back();
    free(own);
    return p;
}
#else
#include <dlfcn.h>

NOINLINE static void *called_back(void) {
    void *p = malloc(50);
    KEEP(p);
    return p;
}

int main(void) {
    for (int round = 0; round < 3; round++) {
        void *h = dlmopen(LM_ID_NEWLM, SO, RTLD_NOW | RTLD_LOCAL);
        void *(*call)(void *(*)(void)) = h ? (void *(*)(void *(*)(void)))dlsym(h, "plugin_call") : NULL;
        if (!call)
            return 1;
        for (int i = 0; i < 100; i++)
            free(call(called_back));
        if (dlclose(h))
            return 2;
    }
    return say_ok();
}
#endif
