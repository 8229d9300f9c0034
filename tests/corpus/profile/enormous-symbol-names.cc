/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: very large symbol names (C++ templates)
 * Report: https://github.com/wolfpld/tracy/issues/430
 * Symptom: a mangled name beyond the buffer foreseen crashes the profiler when it demangles or copies it
 * Right: exit 0, stdout "ok". The allocating function's mangled name has over 10000 bytes, demangled far more. Writing
 *     the profile takes no noticeable time, and what reads it copes.
 *
 * BUILD $CXX -std=c++17 -ftemplate-depth=2000 $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT timeout 10
 * EXPECT under long_name_caller 200 4600 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <utility>

template <int N> struct a_rather_long_class_name_used_as_a_parameter {};

template <class... T> struct many {
    template <class U> static NOINLINE void *alloc() {
        void *p = malloc(23);
        KEEP(p);
        return p;
    }
};

template <int... I>
static many<a_rather_long_class_name_used_as_a_parameter<I>...> mk(std::integer_sequence<int, I...>);
using M = decltype(mk(std::make_integer_sequence<int, 900>()));

extern "C" NOINLINE void long_name_caller() {
    free(M::alloc<char>());
    free(M::alloc<long>());
}

int main() {
    for (int i = 0; i < 100; i++)
        long_name_caller();
    return say_ok();
}
