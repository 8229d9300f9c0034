/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: static TLS exhaustion with dlopen
 * Report: https://github.com/jemalloc/jemalloc/issues/1237
 * Symptom: "cannot allocate memory in static TLS block" from a later dlopen because the preload used up the reserve
 * Right: exit 0, stdout "ok". Three plugins with 384 bytes of initial-exec TLS each (1152 in all) load with dlopen;
 *     this fits glibc's surplus as long as nothing the preload loads late takes from it.
 *
 * BUILD for i in 0 1 2; do $CC -shared -fPIC -ftls-model=initial-exec -DPLUGIN=$i $SRC -o $BIN.$i.so; done
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.%d.so\""
 * EXPECT timeout 5
 * EXPECT func tls_user 3 300 0 0
 */
#include "tests/corpus/case.h"

#ifdef PLUGIN
static __thread char room[384];

char *plugin_room(void) {
    return room;
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

NOINLINE static void *tls_user(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, SO, i);
        free(tls_user());
        void *h = dlopen(path, RTLD_NOW);
        if (!h) {
            const char *e = dlerror();
            if (write(2, e, strlen(e)) < 0)
                return 9;
            return 1;
        }
        char *(*f)(void) = (char *(*)(void))dlsym(h, "plugin_room");
        memset(f(), i, 384);
    }
    return say_ok();
}
#endif
