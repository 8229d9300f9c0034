/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: free(NULL), realloc(NULL, n), and other calls without a block
 * Symptom: calls that do nothing are counted, or look the null pointer up and find something
 * Right: exit 0, stdout "ok": a million frees of NULL count nothing and leave errno; realloc of NULL is malloc; a
 *     failed call counts nothing.
 *
 * EXPECT unseen frees_nothing
 * EXPECT func as_malloc 1000 20000 0 0
 */
#include "tests/corpus/case.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

NOINLINE static void frees_nothing(void *nothing) {
    free(nothing);
    KEEP(nothing);
}

NOINLINE static void *as_malloc(void *nothing) {
    void *p = realloc(nothing, 20);
    KEEP(p);
    return p;
}

int main(void) {
    void *nothing = NULL;
    KEEP(nothing);
    errno = 1234;
    for (int i = 0; i < 1000000; i++)
        frees_nothing(nothing);
    if (errno != 1234 || malloc_usable_size(nothing) != 0)
        return 1;
    for (int i = 0; i < 1000; i++)
        free(as_malloc(nothing));
    return errno == 1234 ? say_ok() : 2;
}
