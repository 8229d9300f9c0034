// SPDX-License-Identifier: Apache-2.0
// C++'s operators new and delete in all their forms, each new in a function of its own that keeps count itself:
//
//     truth FUNCTION ALLOCATED-BYTES BLOCKS IN-USE-BYTES BLOCKS
//
// With the argument `run-out` it also asks for more than there can be. (mimalloc aborts then, if it is built as C.)
// Sizes are multiples of the alignment, since libstdc++ rounds up to one before it asks malloc.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#define SITE extern "C" __attribute__((noipa)) void

struct Count {
    size_t bytes, blocks, live_bytes, live_blocks;
};

static void *volatile block;
static volatile size_t too_much = PTRDIFF_MAX;
static int wrong;

static void check(bool right, const char *what) {
    if (!right) {
        printf("wrong: %s\n", what);
        wrong = 1;
    }
}

static void add(Count *c, void *p, size_t size, size_t align) {
    check(p && (uintptr_t)p % align == 0, "a block, aligned");
    memset(p, 0x5a, size);
    block = p;
    c->bytes += size;
    c->blocks++;
    c->live_bytes += size;
    c->live_blocks++;
}
static void drop(Count *c, size_t size) {
    c->live_bytes -= size;
    c->live_blocks--;
}

static const std::align_val_t line{64};

// Each form of new, and the deletes that go with it: plain, sized, nothrow.
SITE use_new(Count *c) {
    for (size_t size = 1; size < 2000; size += 7) {
        add(c, ::operator new(size), size, 8);
        if (size % 4 == 1)
            ::operator delete(block), drop(c, size);
        if (size % 4 == 2)
            ::operator delete(block, size), drop(c, size);
        if (size % 4 == 3)
            ::operator delete(block, std::nothrow), drop(c, size);
    }
}
SITE use_new_array(Count *c) {
    for (size_t size = 1; size < 2000; size += 7) {
        add(c, ::operator new[](size), size, 8);
        if (size % 4 == 1)
            ::operator delete[](block), drop(c, size);
        if (size % 4 == 2)
            ::operator delete[](block, size), drop(c, size);
        if (size % 4 == 3)
            ::operator delete[](block, std::nothrow), drop(c, size);
    }
}
SITE use_new_nothrow(Count *c) {
    for (size_t size = 1; size < 200; size += 3) {
        add(c, ::operator new(size, std::nothrow), size, 8);
        if (size % 2)
            ::operator delete(block, std::nothrow), drop(c, size);
    }
}
SITE use_new_array_nothrow(Count *c) {
    for (size_t size = 1; size < 200; size += 3) {
        add(c, ::operator new[](size, std::nothrow), size, 8);
        if (size % 2)
            ::operator delete[](block, std::nothrow), drop(c, size);
    }
}
SITE use_new_aligned(Count *c) {
    for (size_t size = 64; size < 10000; size += 64) {
        add(c, ::operator new(size, line), size, 64);
        if (size / 64 % 4 == 1)
            ::operator delete(block, line), drop(c, size);
        if (size / 64 % 4 == 2)
            ::operator delete(block, size, line), drop(c, size);
        if (size / 64 % 4 == 3)
            ::operator delete(block, line, std::nothrow), drop(c, size);
    }
}
SITE use_new_array_aligned(Count *c) {
    for (size_t size = 64; size < 10000; size += 64) {
        add(c, ::operator new[](size, line), size, 64);
        if (size / 64 % 4 == 1)
            ::operator delete[](block, line), drop(c, size);
        if (size / 64 % 4 == 2)
            ::operator delete[](block, size, line), drop(c, size);
        if (size / 64 % 4 == 3)
            ::operator delete[](block, line, std::nothrow), drop(c, size);
    }
}
SITE use_new_aligned_nothrow(Count *c) {
    for (size_t size = 64; size < 10000; size += 64) {
        add(c, ::operator new(size, line, std::nothrow), size, 64);
        if (size / 64 % 2)
            ::operator delete(block, line, std::nothrow), drop(c, size);
    }
}
SITE use_new_array_aligned_nothrow(Count *c) {
    for (size_t size = 64; size < 10000; size += 64) {
        add(c, ::operator new[](size, line, std::nothrow), size, 64);
        if (size / 64 % 2)
            ::operator delete[](block, line, std::nothrow), drop(c, size);
    }
}

static int handled;
static void handler() {
    if (++handled == 3)
        std::set_new_handler(nullptr);
}

static void run_out() {
    check(!::operator new(too_much, std::nothrow), "too much: null");
    check(!::operator new[](too_much, std::nothrow), "too much: null");
    check(!::operator new(too_much, line, std::nothrow), "too much: null");
    check(!::operator new[](too_much, line, std::nothrow), "too much: null");
    std::set_new_handler(handler);
    try {
        block = ::operator new(too_much);
        check(false, "too much: thrown");
    } catch (const std::bad_alloc &) {
        check(handled == 3, "the handler is asked until there is none");
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*use)(Count *);
    } uses[] = {{"use_new", use_new},
                {"use_new_array", use_new_array},
                {"use_new_nothrow", use_new_nothrow},
                {"use_new_array_nothrow", use_new_array_nothrow},
                {"use_new_aligned", use_new_aligned},
                {"use_new_array_aligned", use_new_array_aligned},
                {"use_new_aligned_nothrow", use_new_aligned_nothrow},
                {"use_new_array_aligned_nothrow", use_new_array_aligned_nothrow}};
    for (const auto &u : uses) {
        Count c = {};
        u.use(&c);
        printf("truth %s %zu %zu %zu %zu\n", u.name, c.bytes, c.blocks, c.live_bytes, c.live_blocks);
    }
    if (argc > 1 && strcmp(argv[1], "run-out") == 0)
        run_out();
    return wrong;
}
