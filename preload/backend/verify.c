/* SPDX-License-Identifier: Apache-2.0 */
/* The stack as libunwind finds it by itself: its local-only interface, which has its own ways to read memory and to find
 * unwind tables. A library of its own, see preload/record/verify.h. */
#include "preload/record/verify.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

/* Frames between this function and the one that is asked for: the library's own. */
#define MAX_SKIPPED 64

__attribute__((visibility("default"))) verify_backtrace cprof_verify_backtrace;

uint32_t cprof_verify_backtrace(uintptr_t sp, uintptr_t *address, uint32_t room, int *end) {
    unw_context_t context;
    unw_cursor_t cursor;
    uint32_t n = 0, skipped = 0;
    int interrupted = 0;
    *end = 0;
    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
        return 0;
    for (;;) {
        unw_word_t ip, at;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &at) != 0 || !ip)
            return n;
        if (n || at == sp) {
            if (n == room) {
                *end = 1;
                return n;
            }
            address[n++] = ip - !interrupted;
        } else if (++skipped > MAX_SKIPPED) {
            return 0;
        }
        interrupted = unw_is_signal_frame(&cursor) > 0;
        int ret = unw_step(&cursor);
        if (ret <= 0) {
            *end = ret;
            return n;
        }
    }
}
