/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: one stack that asks for very many sizes
 * Symptom: what is kept for each pair of stack and size is searched one by one, or runs out
 * Right: exit 0, stdout "ok": sizes 1 to 100000, each once, from one place, then again in another order; all balance.
 *
 * EXPECT timeout 30
 * EXPECT func of_every_size 200000 10000100000 0 0
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

NOINLINE static void *of_every_size(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

int main(void) {
    for (size_t n = 1; n <= 100000; n++)
        free(of_every_size(n));
    for (size_t i = 0; i < 100000; i++)
        free(of_every_size(1 + i * 7919 % 100000));
    return say_ok();
}
