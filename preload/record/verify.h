/* SPDX-License-Identifier: Apache-2.0 */
/* Checking stacks: every recorded stack is compared with the one that libunwind finds from the same place.
 *
 * For tests alone (tests/stacks). The library that they use is made of the same sources as the one that is shipped,
 * linked with --wrap so that a few calls between them lead here first; nothing of it is in the shipped one. libunwind
 * is loaded through a library of its own, libcprof-verify.so beside libcprof.so, which exports the function below, and
 * before the backend: with that it would get the backend's stand-ins for mutexes and pipes.
 *
 * CPROF_VERIFY_OUT=NAME gets the results in NAME.PID.N, for each process image: lines of a word and a number that are
 * kept up to date while the process runs, however it ends, then the first stacks that differ, in full. Without it
 * nothing is compared. */
#ifndef CPROF_RECORD_VERIFY_H
#define CPROF_RECORD_VERIFY_H

#include <stdint.h>

#define VERIFY_SYMBOL "cprof_verify_backtrace"

/* The caller's stack from the frame whose stack pointer is `sp` on outwards, as addresses like those of a segment's
 * pcs, at most `room` of them. Returns their number, 0 if there is no such frame. *end tells what ended it: 0 the
 * outermost frame, one of these two, or libunwind's (negative) error. */
enum verify_end {
    VERIFY_NO_ROOM = 1,
    VERIFY_GUESSED, /* there is more, but libunwind gives up when it has guessed for long (see there) */
};
typedef uint32_t verify_backtrace(uintptr_t sp, uintptr_t *address, uint32_t room, int *end);

#endif
