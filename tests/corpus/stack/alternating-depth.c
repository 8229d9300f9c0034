/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: deep recursion (of ever-changing depth)
 * Symptom: a tool that keeps its last walk takes frames for unchanged that are not, or starts from the outermost one
 *     each time
 * Right: exit 0, stdout "ok": 200000 allocations at depths up to 100, below two functions that call each other in turn;
 *     which of them is the innermost, and how many lie above, is known for each.
 *
 * EXPECT timeout 30
 * EXPECT func even_leaf 100106 800848 0 0
 * EXPECT func odd_leaf 99894 799152 0 0
 * EXPECT under even 198959 1591672 0 0
 * EXPECT under odd 199009 1592072 0 0
 * EXPECT under start_even 100000 800000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *even_leaf(void) {
    void *p = malloc(8);
    KEEP(p);
    return p;
}

NOINLINE static void *odd_leaf(void) {
    void *p = malloc(8);
    KEEP(p);
    return p;
}

NOINLINE static void *odd(int depth);

NOINLINE static void *even(int depth) {
    void *p = depth ? odd(depth - 1) : even_leaf();
    KEEP(p);
    return p;
}

NOINLINE static void *odd(int depth) {
    void *p = depth ? even(depth - 1) : odd_leaf();
    KEEP(p);
    return p;
}

NOINLINE static void *start_even(int depth) {
    void *p = even(depth);
    KEEP(p);
    return p;
}

NOINLINE static void *start_odd(int depth) {
    void *p = odd(depth);
    KEEP(p);
    return p;
}

int main(void) {
    unsigned state = 1;
    for (int i = 0; i < 200000; i++) {
        state = state * 1103515245 + 12345;
        int depth = (int)(state >> 16) % 100;
        free(i % 2 ? start_odd(depth) : start_even(depth));
    }
    return say_ok();
}
