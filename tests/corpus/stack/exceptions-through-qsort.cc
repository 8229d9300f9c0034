/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: C++ exceptions (thrown out of a callback of libc)
 * Symptom: a throw through frames of C code, in the middle of the tool's books, is not caught, or leaves them wrong
 * Right: exit 0, stdout "ok": 500 times a comparison function that allocates throws through qsort and bsearch, and is
 *     caught outside; destructors free.
 *
 * EXPECT func in_comparison 6000..40000 * 0 0
 * EXPECT under sorted 6000..40000 * 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <stdexcept>
#include <vector>

static int calls;

extern "C" NOINLINE void *in_comparison() {
    void *p = malloc(12);
    KEEP(p);
    return p;
}

struct Guard {
    void *p = in_comparison();

    ~Guard() {
        free(p);
    }
};

static int compare(const void *a, const void *b) {
    Guard guard;
    if (++calls % 20 == 0)
        throw std::runtime_error("enough");
    return *(const int *)a - *(const int *)b;
}

extern "C" NOINLINE int sorted(int *numbers, size_t n) {
    try {
        qsort(numbers, n, sizeof *numbers, compare);
        int key = 3;
        for (;;)
            bsearch(&key, numbers, n, sizeof *numbers, compare);
    } catch (const std::runtime_error &) {
        return 1;
    }
}

int main() {
    int caught = 0;
    for (int i = 0; i < 500; i++) {
        std::vector<int> numbers{5, 3, 9, 1, 7, 2, 8, 4};
        caught += sorted(numbers.data(), numbers.size());
    }
    return caught == 500 && calls == 10000 ? say_ok() : 1;
}
