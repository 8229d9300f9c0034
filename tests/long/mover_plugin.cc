// SPDX-License-Identifier: Apache-2.0
// A library that is copied, opened and closed again and again (mixture.c). Allocates when it is opened, gives that back when it is
// closed, and throws exceptions through frames that hold memory.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "tests/long/mover.h"

#define SITE __attribute__((noipa)) static

extern "C" { /* names as they stand */
SITE void *hammer_mover_malloc(size_t size) {
    return malloc(size);
}
SITE char *hammer_mover_new(size_t size) {
    return new char[size];
}
}

namespace {

struct Kept {
    void *blocks[MOVER_KEPT];
    Kept() {
        for (void *&block : blocks)
            block = hammer_mover_malloc(MOVER_SIZE);
    }
    ~Kept() {
        for (void *block : blocks)
            free(block);
    }
} kept;

struct Holder {
    char *text;
    explicit Holder(size_t size) : text(hammer_mover_new(size)) {}
    ~Holder() { delete[] text; }
};

__attribute__((noinline)) int fall(unsigned depth) {
    Holder held(MOVER_SIZE);
    if (depth == 0)
        throw std::runtime_error("at the bottom of all calls, with a text that is too long to be kept inside");
    return fall(depth - 1) + held.text[0];
}

} // namespace

extern "C" int mover_throw(unsigned depth) {
    try {
        return fall(depth);
    } catch (const std::runtime_error &error) {
        return error.what()[0] == 'a';
    }
}
