/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: coverage (allocations made inside libc for the program)
 * Report: https://github.com/async-profiler/async-profiler/issues/1121
 * Symptom: not all allocations are seen: those that do not come in by the public entry the tool patched are missing
 * Right: exit 0, stdout "ok". Blocks made by strdup, asprintf, getline, realpath, opendir, fopen, regcomp,
 *     open_memstream and scandir are seen under the calling function; those the program frees with free() balance.
 *
 * EXPECT timeout 5
 * EXPECT under by_strdup 100 1100 0 0
 * EXPECT under by_asprintf 100..400 * 0 0
 * EXPECT under by_getline 50..400 * 0 0
 * EXPECT under by_fopen 10..100 * 0 0
 * EXPECT under by_regcomp 10..10000 * 0 0
 * EXPECT under by_realpath 10..100 * 0 0
 */
#include "tests/corpus/case.h"

#include <dirent.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

NOINLINE static void by_strdup(void) {
    char *p = strdup("ten chars.");
    KEEP(p);
    free(p);
}

NOINLINE static void by_asprintf(void) {
    char *p = NULL;
    if (asprintf(&p, "%d and %s", 12345, "text") < 0)
        _exit(1);
    KEEP(p);
    free(p);
}

NOINLINE static void by_getline(FILE *f) {
    char *l = NULL;
    size_t n = 0;
    rewind(f);
    if (getline(&l, &n, f) < 0)
        _exit(2);
    KEEP(l);
    free(l);
}

NOINLINE static void by_fopen(void) {
    FILE *f = fopen("/dev/null", "w");
    KEEP(f);
    if (!f)
        _exit(3);
    fputs("x", f);
    fclose(f);
}

NOINLINE static void by_regcomp(void) {
    regex_t r;
    if (regcomp(&r, "^(a|b+)c[0-9]{2,3}$", REG_EXTENDED))
        _exit(4);
    regfree(&r);
}

NOINLINE static void by_realpath(void) {
    char *p = realpath("/usr/../usr/lib", NULL);
    KEEP(p);
    if (!p)
        _exit(5);
    free(p);
}

NOINLINE static void by_dir(void) {
    DIR *d = opendir("/");
    KEEP(d);
    if (!d)
        _exit(6);
    readdir(d);
    closedir(d);
    struct dirent **v;
    int n = scandir("/", &v, NULL, alphasort);
    while (n-- > 0)
        free(v[n]);
    free(v);
}

NOINLINE static void by_memstream(void) {
    char *b;
    size_t n;
    FILE *f = open_memstream(&b, &n);
    fprintf(f, "%0500d", 7);
    fclose(f);
    if (n != 500)
        _exit(7);
    free(b);
}

int main(void) {
    FILE *f = fopen("/proc/self/status", "r");
    if (!f)
        return 8;
    for (int i = 0; i < 100; i++) {
        by_strdup();
        by_asprintf();
    }
    for (int i = 0; i < 50; i++)
        by_getline(f);
    for (int i = 0; i < 10; i++) {
        by_fopen();
        by_regcomp();
        by_realpath();
        by_dir();
        by_memstream();
    }
    fclose(f);
    return say_ok();
}
