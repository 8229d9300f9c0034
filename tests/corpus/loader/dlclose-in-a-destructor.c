/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: dlclose (out of the destructor of a library that is being closed)
 * Symptom: a hook of dlclose that takes a lock, or looks at the list of modules meanwhile, does not survive being
 *     entered again
 * Right: exit 0, stdout "ok": the plugin's destructor closes a second plugin, whose destructor allocates; and one stays
 *     open, to be closed by exit.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN=2 $SRC -o $BIN.2.so
 * BUILD $CC -shared -fPIC -DPLUGIN=1 -DSO="\"$BIN.2.so\"" $SRC -o $BIN.1.so
 * BUILD $CC $SRC -o $BIN -DSO="\"$BIN.1.so\""
 * EXPECT func at_the_end_of_1 51 1122 0 0
 * EXPECT func at_the_end_of_2 51 1683 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <stdlib.h>

#if defined PLUGIN && PLUGIN == 1
static void *other;

NOINLINE static void *at_the_end_of_1(void) {
    void *p = malloc(22);
    KEEP(p);
    return p;
}

__attribute__((constructor)) static void begin(void) {
    other = dlopen(SO, RTLD_NOW);
}

__attribute__((destructor)) static void end(void) {
    free(at_the_end_of_1());
    if (other)
        dlclose(other);
}
#elif defined PLUGIN
NOINLINE static void *at_the_end_of_2(void) {
    void *p = malloc(33);
    KEEP(p);
    return p;
}

__attribute__((destructor)) static void end(void) {
    free(at_the_end_of_2());
}
#else
int main(void) {
    for (int i = 0; i < 50; i++) {
        void *h = dlopen(SO, RTLD_NOW);
        if (!h || dlclose(h))
            return 1;
    }
    return dlopen(SO, RTLD_NOW) ? say_ok() : 2;
}
#endif
