/* SPDX-License-Identifier: Apache-2.0 */
/* The stack as libunwind finds it by itself: its local-only interface, which has its own ways to read memory and to
 * find unwind tables. A library of its own, see preload/record/verify.h. */
#include "preload/record/verify.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stddef.h>

/* Frames between this function and the one that is asked for: the library's own. */
#define MAX_SKIPPED 64

/* A limit of libunwind (seen in 1.6.2): through code without unwind information it goes by frame pointers, and takes
 * each such frame to be 16 bytes long. Once the real frame pointer is more than this far from the stack pointer that it
 * believes in, it ends, as if the frame were the outermost one. */
#define GUESSED_TOO_FAR 0x4000u

static int guessed_too_far(unw_word_t ip, unw_word_t sp, unw_word_t bp) {
    unw_proc_info_t pi;
    return bp > sp && bp - sp > GUESSED_TOO_FAR && unw_get_proc_info_by_ip(unw_local_addr_space, ip - 1, &pi, NULL) < 0;
}

__attribute__((visibility("default"))) verify_backtrace cprof_verify_backtrace;

uint32_t cprof_verify_backtrace(uintptr_t sp, uintptr_t *address, uint32_t room, int *end) {
    unw_context_t context;
    unw_cursor_t cursor;
    uint32_t n = 0, skipped = 0;
    *end = 0;
    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
        return 0;
    for (;;) {
        unw_word_t ip, at, bp;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &at) != 0 || !ip)
            return n;
        if (n || at == sp) {
            if (n == room) {
                *end = VERIFY_NO_ROOM;
                return n;
            }
            /* "Signal frame" is what libunwind calls the one that the signal interrupted: its pc is no return address.
             */
            address[n++] = ip - (unw_is_signal_frame(&cursor) <= 0);
        } else if (++skipped > MAX_SKIPPED) {
            return 0;
        }
        if (unw_get_reg(&cursor, UNW_X86_64_RBP, &bp) != 0)
            bp = 0;
        int ret = unw_step(&cursor);
        if (ret <= 0) {
            *end = ret == 0 && guessed_too_far(ip, at, bp) ? VERIFY_GUESSED : ret;
            return n;
        }
    }
}
