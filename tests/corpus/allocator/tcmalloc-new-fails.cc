/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: C++ operator new (of an allocator that is hooked itself), failing
 * Symptom: the exception is thrown by the next operator new, through the hook's own frame
 * Right: exit 0, stdout "ok": in a program linked with tcmalloc, bad_alloc gets through the hooks of all forms of new,
 *     200 times; what could be had is balanced.
 *
 * NEEDS link -ltcmalloc_minimal
 * BUILD $CXX -std=c++17 $SRC -o $BIN -Wl,--no-as-needed -ltcmalloc_minimal
 * EXPECT timeout 20
 * EXPECT func that_could_be_had 200 10000 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <new>

static volatile size_t huge = (size_t)1 << 62;

extern "C" NOINLINE void *that_could_be_had() {
    void *p = ::operator new(50);
    KEEP(p);
    return p;
}

NOINLINE static int refused(int form) {
    try {
        void *p = form == 0   ? ::operator new(huge)
                  : form == 1 ? ::operator new[](huge)
                  : form == 2 ? ::operator new (huge, std::align_val_t{64})
                              : ::operator new[](huge, std::align_val_t{64});
        KEEP(p);
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}

int main() {
    for (int i = 0; i < 200; i++) {
        if (!refused(i % 4) || ::operator new(huge, std::nothrow))
            return 1;
        ::operator delete(that_could_be_had());
    }
    return say_ok();
}
