/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: profile counts (realloc and containers, sampled)
 * Symptom: a block that grows step by step is counted for its last size only, or each step with the wrong weight
 * Right: exit 0, stdout "ok": 400 vectors grow from 1 to 65536 integers, and as many arrays by realloc. Each step is an
 *     allocation; sampled, both are within five standard deviations.
 *
 * EXPECT under by_vector 6800 209713600 0 0
 * EXPECT func by_realloc 6800 209713600 0 0
 * EXPECT sampled by_vector * 165000000..255000000 0 0
 * EXPECT sampled by_realloc * 165000000..255000000 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <vector>

extern "C" NOINLINE void by_vector() {
    std::vector<int> v;
    for (int i = 0; i < 65536; i++)
        v.push_back(i);
    int *p = v.data();
    KEEP(p);
}

extern "C" NOINLINE void by_realloc() {
    void *p = nullptr;
    for (size_t n = 1; n <= 65536; n *= 2) {
        p = realloc(p, n * sizeof(int));
        KEEP(p);
    }
    free(p);
}

int main() {
    for (int i = 0; i < 400; i++) {
        by_vector();
        by_realloc();
    }
    return say_ok();
}
