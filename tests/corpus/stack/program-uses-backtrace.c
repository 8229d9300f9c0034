/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: C++ exceptions / the program's own unwinding
 * Report: https://github.com/bloomberg/memray/issues/863
 * Symptom: _Unwind_* of a library loaded with the profiler answers the program's calls: wrong backtraces or a crash
 * Right: exit 0, stdout "ok". backtrace(3) (whose first use dlopens libgcc_s inside libc) and _Unwind_Backtrace see the
 *     same frames with and without the preload: tracer, caller_1 and main, no extra ones; backtrace_symbols' block and
 *     the first use's allocations do not deadlock. _Unwind_Find_FDE must be libgcc's.
 *
 * BUILD $CC -pthread $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT timeout 10
 * EXPECT func traced_alloc 200 6400 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

NOINLINE void *traced_alloc(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

NOINLINE int tracer(void) {
    void *f[32];
    free(traced_alloc());
    int n = backtrace(f, 32);
    char **s = backtrace_symbols(f, n);
    int ok = n >= 3 && s && strstr(s[0], "tracer") && strstr(s[1], "caller_1");
    free(s);
    KEEP(ok);
    return ok;
}

NOINLINE int caller_1(void) {
    int r = tracer();
    KEEP(r);
    return r;
}

static void *run(void *a) {
    for (int i = 0; i < 100; i++)
        if (!caller_1())
            return (void *)1;
    return a;
}

int main(void) {
    pthread_t t;
    void *r;
    pthread_create(&t, NULL, run, NULL);
    void *m = run(NULL);
    pthread_join(t, &r);
    if (m || r)
        return 1;
    void *u = dlsym(RTLD_DEFAULT, "_Unwind_Backtrace");
    Dl_info d;
    if (u && dladdr(u, &d) && !strstr(d.dli_fname, "libgcc_s"))
        return 2;
    return say_ok();
}
