/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: many modules
 * Symptom: a table of modules of fixed size overflows, or looking an address up takes time for each of them
 * Right: exit 0, stdout "ok": 300 libraries are loaded, one after another, each allocates 10 blocks; half of them are
 *     closed. All are named.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT timeout 20
 * EXPECT func one_of_many 3000 57000 3000 57000
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#ifdef PLUGIN
NOINLINE static void *one_of_many(void) {
    void *p = malloc(19);
    KEEP(p);
    return p;
}

void plugin_fill(void **to, int n);

void plugin_fill(void **to, int n) {
    for (int i = 0; i < n; i++)
        to[i] = one_of_many();
}
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static void *held[300][10];

static int copy(const char *to) {
    struct stat st;
    int in = open(SO, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    int ok = in >= 0 && out >= 0 && fstat(in, &st) == 0 && sendfile(out, in, NULL, (size_t)st.st_size) == st.st_size;
    close(in);
    close(out);
    return ok;
}

int main(void) {
    for (int i = 0; i < 300; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/library-%d.so", getenv("TMPDIR"), i);
        void *h = copy(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        void (*fill)(void **, int) = h ? (void (*)(void **, int))dlsym(h, "plugin_fill") : NULL;
        if (!fill)
            return 1;
        fill(held[i], 10);
        if (i % 2 && dlclose(h))
            return 2;
    }
    return say_ok();
}
#endif
