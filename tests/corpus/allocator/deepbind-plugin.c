/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: pointers crossing between allocators (RTLD_DEEPBIND)
 * Report: https://github.com/DataDog/ddprof/issues/446
 * Symptom: a library opened with RTLD_DEEPBIND binds malloc past the preload; its blocks are freed through the hook
 * Right: exit 0, stdout "ok". Blocks made in the plugin (libc's malloc, not the hook) are resized and freed by the
 *     program, and the other way round. The hooks pass unknown pointers on untouched. A profiler that forwards to libc
 *     and keeps no header sees main_block as in use for ever when the plugin frees it: allowed; negative or crashed is
 *     not.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT timeout 5
 * EXPECT func main_block 500 50000 0..500 0..50000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>
#ifdef PLUGIN
char *plug_make(int n) {
    char *p = malloc(n);
    KEEP(p);
    memset(p, 'p', n);
    return p;
}

void plug_free(void *p) {
    free(p);
}

char *plug_grow(char *p, int n) {
    p = realloc(p, n);
    KEEP(p);
    return p;
}
#else
#include <dlfcn.h>

NOINLINE static char *main_block(void) {
    char *p = malloc(100);
    KEEP(p);
    return p;
}

int main(void) {
    void *h = dlopen(SO, RTLD_NOW | RTLD_DEEPBIND);
    if (!h)
        return 1;
    char *(*mk)(int) = (char *(*)(int))dlsym(h, "plug_make");
    void (*fr)(void *) = (void (*)(void *))dlsym(h, "plug_free");
    char *(*gr)(char *, int) = (char *(*)(char *, int))dlsym(h, "plug_grow");
    for (int i = 0; i < 500; i++) {
        char *p = mk(50 + i);
        p = realloc(p, 5000);
        KEEP(p);
        if (p[49] != 'p')
            return 2;
        free(p);
        char *q = main_block();
        q[99] = 'm';
        q = gr(q, 3000);
        if (q[99] != 'm')
            return 3;
        fr(q);
        free(mk(10));
    }
    return say_ok();
}
#endif
