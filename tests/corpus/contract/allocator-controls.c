/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: the rest of glibc's interface (mallopt, malloc_trim, mallinfo2, malloc_info)
 * Symptom: a replaced malloc answers for another heap than the program's, or what these allocate is not balanced
 * Right: exit 0, stdout "ok": statistics follow the program's own allocations, malloc_trim and malloc_info work, and
 *     mallopt has the effect it has.
 *
 * EXPECT func counted_by_both 1000 10000000 0 0
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *held[1000];

NOINLINE static void *counted_by_both(void) {
    void *p = malloc(10000);
    KEEP(p);
    return p;
}

int main(void) {
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 1000; i++)
        held[i] = counted_by_both();
    struct mallinfo2 after = mallinfo2();
    if (after.uordblks - before.uordblks < 10000000 || after.uordblks - before.uordblks > 10200000)
        return 1;
    for (int i = 0; i < 1000; i++)
        free(held[i]);
    if (!malloc_trim(0))
        return 2;
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (!f || malloc_info(0, f) || fclose(f) || !strstr(text, "<malloc version="))
        return 3;
    free(text);
    mallopt(M_PERTURB, 0x5a);
    unsigned char *p = malloc(1000);
    KEEP(p);
    if (!p || p[500] != (unsigned char)~0x5a)
        return 4;
    free(p);
    return mallopt(M_MMAP_THRESHOLD, 4096) == 1 && mallopt(M_ARENA_MAX, 1) == 1 ? say_ok() : 5;
}
