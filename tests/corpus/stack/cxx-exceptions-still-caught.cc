/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: C++ exceptions (libunwind's _Unwind_* symbols take the place of libgcc's)
 * Report: https://github.com/alibaba/neug/issues/382
 * Symptom: with libunwind.so ahead of libgcc_s in the search order a throw is not caught: the process aborts
 * Right: exit 0, stdout "ok". 2000 throws through 30 frames with destructors, rethrow, exception_ptr passed between
 *     threads, and a throw out of a callback in a destructor-heavy path: all caught, all memory returned. The preload
 *     must not export (or pull into the global scope) any _Unwind_* or __register_frame* symbol.
 *
 * BUILD $CXX -pthread $SRC -o $BIN
 * EXPECT timeout 20
 * EXPECT under thrower 2000..8000 * 0 0
 * EXPECT func holder_alloc 62000 992000 0 0
 */
#include "tests/corpus/case.h"

#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <string>

extern "C" NOINLINE void *holder_alloc() {
    void *p = malloc(16);
    KEEP(p);
    return p;
}

struct H {
    void *p = holder_alloc();

    ~H() {
        free(p);
    }
};

extern "C" NOINLINE void thrower(int i) {
    throw std::runtime_error(std::string(40, 'e') + std::to_string(i));
}

NOINLINE static int nest(int d, int i) {
    H h;
    if (d) {
        int r = nest(d - 1, i);
        KEEP(r);
        return r;
    }
    thrower(i);
    return 0;
}

static std::exception_ptr ep;

static void *catcher(void *a) {
    try {
        std::rethrow_exception(ep);
    } catch (const std::runtime_error &e) {
        return a;
    }
    return (void *)1;
}

int main() {
    int caught = 0;
    for (int i = 0; i < 2000; i++) {
        try {
            try {
                nest(30, i);
            } catch (const std::logic_error &) {
                return 1;
            } catch (...) {
                throw;
            }
        } catch (const std::exception &e) {
            if (e.what() != std::string(40, 'e') + std::to_string(i))
                return 2;
            caught++;
            if (i % 500 == 0) {
                ep = std::current_exception();
                pthread_t t;
                void *r;
                pthread_create(&t, nullptr, catcher, nullptr);
                pthread_join(t, &r);
                ep = nullptr;
                if (r)
                    return 3;
            }
        }
    }
    if (caught != 2000)
        return 4;
    return say_ok();
}
