/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: C++ operator new (failing, and with a handler)
 * Symptom: std::bad_alloc does not get through the hook, or the handler is not called, or a failed request is counted
 * Right: exit 0, stdout "ok": 500 requests that can't be met throw bad_alloc, 500 return NULL, a new_handler frees its
 *     reserve and is called again, and a constructor that throws gives its block back.
 *
 * EXPECT under too_much 500..2000 * 0 0
 * EXPECT under thrown_constructor 500..3000 * 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <new>

static volatile size_t huge = (size_t)1 << 62;
static int handled;

extern "C" NOINLINE int too_much() {
    try {
        char *p = new char[huge];
        KEEP(p);
        return 1;
    } catch (const std::bad_alloc &) {
    }
    char *q = new (std::nothrow) char[huge];
    KEEP(q);
    return q ? 1 : 0;
}

struct Throws {
    char room[100];

    Throws() {
        throw 7;
    }
};

extern "C" NOINLINE int thrown_constructor() {
    try {
        auto *p = new Throws;
        KEEP(p);
    } catch (int n) {
        return n;
    }
    return 0;
}

static void give_up() {
    if (++handled % 3 == 0)
        throw std::bad_alloc();
}

int main() {
    for (int i = 0; i < 500; i++)
        if (too_much() || thrown_constructor() != 7)
            return 1;
    std::set_new_handler(give_up);
    for (int i = 0; i < 100; i++) {
        try {
            void *p = ::operator new(huge);
            KEEP(p);
            return 2;
        } catch (const std::bad_alloc &) {
        }
    }
    return handled == 300 ? say_ok() : 3;
}
