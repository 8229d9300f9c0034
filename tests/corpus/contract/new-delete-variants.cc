/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: C++ operator new / aligned new
 * Report: https://github.com/gperftools/gperftools/pull/928
 * Symptom: operator new for over-aligned types is not covered: misaligned storage or unseen allocations
 * Right: exit 0, stdout "ok". Each of the eight forms of new, 100 times 64 bytes (nothrow, array, aligned to 256),
 *     freed by the matching sized/aligned delete. Each block is counted once (operator new calling malloc inside must
 *     not count twice); alignment holds. libstdc++ rounds the size of aligned blocks up to the alignment, hence 25600
 *     bytes for 100 blocks.
 *
 * BUILD $CXX -std=c++17 $SRC -o $BIN
 * EXPECT timeout 5
 * EXPECT under plain_new 200 12800 0 0
 * EXPECT under nothrow_new 200 12800 0 0
 * EXPECT under aligned_new 200 51200 0 0
 * EXPECT under aligned_nothrow_new 200 51200 0 0
 */
#include "tests/corpus/case.h"

#include <cstdint>
#include <new>

static constexpr std::align_val_t A{256};
static int bad;
extern "C" {
NOINLINE void plain_new() {
    void *p = ::operator new(64), *q = ::operator new[](64);
    KEEP(p);
    KEEP(q);
    ::operator delete(p, 64);
    ::operator delete[](q, 64);
}

NOINLINE void nothrow_new() {
    void *p = ::operator new(64, std::nothrow), *q = ::operator new[](64, std::nothrow);
    KEEP(p);
    KEEP(q);
    ::operator delete(p, std::nothrow);
    ::operator delete[](q);
}

NOINLINE void aligned_new() {
    void *p = ::operator new(64, A), *q = ::operator new[](64, A);
    KEEP(p);
    KEEP(q);
    bad |= (uintptr_t)p % 256 || (uintptr_t)q % 256;
    ::operator delete(p, 64, A);
    ::operator delete[](q, 64, A);
}

NOINLINE void aligned_nothrow_new() {
    void *p = ::operator new(64, A, std::nothrow), *q = ::operator new[](64, A, std::nothrow);
    KEEP(p);
    KEEP(q);
    bad |= (uintptr_t)p % 256 || (uintptr_t)q % 256;
    ::operator delete(p, A);
    ::operator delete[](q, A, std::nothrow);
}
}

int main() {
    for (int i = 0; i < 100; i++) {
        plain_new();
        nothrow_new();
        aligned_new();
        aligned_nothrow_new();
    }
    if (bad)
        return 1;
    return say_ok();
}
