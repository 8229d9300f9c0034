/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: same library mapped twice
 * Report: https://github.com/google/pprof/issues/928
 * Symptom: two mappings of one file are taken for one: addresses of the second are computed from the first's base
 * Right: exit 0, stdout "ok". One plugin loaded by two names (same bytes, same build id), and the first file also
 *     mapped by the program as data, readable and executable, at two more places. twin_leaf appears with the sum of
 *     both (from two mappings); neither is attributed to twin_other, which follows it in the file.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD cp $BIN.so $BIN.copy.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.so\"" -DCOPY="\"$BIN.copy.so\""
 * EXPECT timeout 5
 * EXPECT func twin_leaf 300 9900 300 9900
 * EXPECT unseen twin_other
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#ifdef PLUGIN
NOINLINE static void *twin_leaf(void) {
    void *p = malloc(33);
    KEEP(p);
    return p;
}

NOINLINE static void *twin_other(void) {
    void *p = malloc(34);
    KEEP(p);
    return p;
}

void twin_go(void **out, int n) {
    for (int i = 0; i < n; i++)
        out[i] = twin_leaf();
}
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

static void *keep[300];

int main(void) {
    int fd = open(SO, O_RDONLY);
    void *m = mmap(NULL, 16384, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    void *a = dlopen(SO, RTLD_NOW | RTLD_LOCAL), *b = dlopen(COPY, RTLD_NOW | RTLD_LOCAL);
    void *n = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
    if (!a || !b || a == b || m == MAP_FAILED || n == MAP_FAILED)
        return 1;
    ((void (*)(void **, int))dlsym(a, "twin_go"))(keep, 100);
    ((void (*)(void **, int))dlsym(b, "twin_go"))(keep + 100, 200);
    return say_ok();
}
#endif
