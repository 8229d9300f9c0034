/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: C++ operator new (replaced by the program)
 * Symptom: the program's operators are passed over, or its blocks are counted once for new and once for malloc
 * Right: exit 0, stdout "ok": the executable defines new and delete with a header of its own on top of malloc; all of
 *     new comes from it, blocks are counted once, and the operators of libstdc++ itself reach it as well.
 *
 * BUILD $CXX $SRC -o $BIN
 * EXPECT under by_new_expression 1000 56000 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

static long live, made;

NOINLINE static void *own_new(size_t n) {
    auto *p = (size_t *)malloc(n + 16);
    KEEP(p);
    if (!p)
        abort();
    p[0] = 0x600dull;
    live++;
    made++;
    return p + 2;
}

NOINLINE static void own_delete(void *p) {
    if (!p)
        return;
    size_t *start = (size_t *)p - 2;
    if (start[0] != 0x600dull)
        abort();
    live--;
    free(start);
}

void *operator new(size_t n) {
    return own_new(n);
}

void *operator new[](size_t n) {
    return own_new(n);
}

void operator delete(void *p) noexcept {
    own_delete(p);
}

void operator delete[](void *p) noexcept {
    own_delete(p);
}

void operator delete(void *p, size_t) noexcept {
    own_delete(p);
}

void operator delete[](void *p, size_t) noexcept {
    own_delete(p);
}

struct Forty {
    char room[40];
};

extern "C" NOINLINE Forty *by_new_expression() {
    auto *p = new Forty;
    KEEP(p);
    return p;
}

int main() {
    for (int i = 0; i < 1000; i++)
        delete by_new_expression();
    long before = made;
    {
        std::string text(1000, 't');
        std::vector<std::string> many(10, text);
        if (made - before < 12)
            return 1;
    }
    return live == 0 ? say_ok() : 2;
}
