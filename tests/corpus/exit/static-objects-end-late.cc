/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: destructors / atexit order (C++ objects of threads and of the program)
 * Symptom: objects destroyed during exit allocate and free after the tool has written, or after its own state is gone
 * Right: exit 0, stdout "ok": a thread_local object of main, static objects and a handler registered by a destructor
 *     all allocate and free at exit, and the profile has it.
 *
 * BUILD $CXX -pthread $SRC -o $BIN
 * EXPECT profiles 1
 * EXPECT func by_destructor 400 10000 0 0
 * EXPECT under fill 100 2500 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>

extern "C" NOINLINE void *by_destructor() {
    void *p = malloc(25);
    KEEP(p);
    return p;
}

extern "C" NOINLINE void fill(void **to) {
    for (int i = 0; i < 100; i++)
        to[i] = by_destructor();
}

struct Late {
    void *held[100];

    Late() {
        fill(held);
    }

    ~Late() {
        for (void *p : held)
            free(p);
        for (int i = 0; i < 100; i++)
            free(by_destructor());
    }
};

static void even_later() {
    for (int i = 0; i < 100; i++)
        free(by_destructor());
    say_ok();
}

struct Registers {
    ~Registers() {
        for (int i = 0; i < 50; i++)
            free(by_destructor());
        atexit(even_later);
    }
};

static Registers first_in_last_out;
static thread_local Late of_main;

int main() {
    if (!of_main.held[99])
        return 1;
    for (int i = 0; i < 50; i++)
        free(by_destructor());
    return 0;
}
