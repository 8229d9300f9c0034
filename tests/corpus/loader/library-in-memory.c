/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: libraries without a file (memfd)
 * Symptom: a mapping whose name is "/memfd:... (deleted)" is taken for a file, or for code without a module
 * Right: exit 0, stdout "ok": a plugin is copied to a memfd and loaded as /proc/self/fd/N; its frames have an address
 *     in a mapping of their own, and the program's function above it is named.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT under calls_plugin 100 2700 100 2700
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#ifdef PLUGIN
void *plugin_make(void);

NOINLINE void *plugin_make(void) {
    void *p = malloc(27);
    KEEP(p);
    return p;
}
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static void *held[100];

NOINLINE static void calls_plugin(void *(*make)(void)) {
    for (int i = 0; i < 100; i++)
        held[i] = make();
}

int main(void) {
    struct stat st;
    char path[64];
    int in = open(SO, O_RDONLY), fd = memfd_create("library in memory", 0);
    if (in < 0 || fd < 0 || fstat(in, &st) || sendfile(fd, in, NULL, (size_t)st.st_size) != st.st_size)
        return 1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *h = dlopen(path, RTLD_NOW);
    void *(*make)(void) = h ? (void *(*)(void))dlsym(h, "plugin_make") : NULL;
    if (!make)
        return 2;
    calls_plugin(make);
    return say_ok();
}
#endif
