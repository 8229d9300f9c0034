/* SPDX-License-Identifier: Apache-2.0 */
/* Many stacks: turn(BITS, NUMBER) calls turn_end(NUMBER), which its user defines, by a way that is told by the bits of the number, so
 * that each number has a stack of its own, made of calls of zero() and one(). */
#ifndef CPROF_TESTS_SYSTEM_TURNS_H
#define CPROF_TESTS_SYSTEM_TURNS_H

#include <stddef.h>

#define TURN __attribute__((noipa)) static

static void turn_end(size_t number);

TURN void zero(size_t bits, size_t number);
TURN void one(size_t bits, size_t number);
TURN void turn(size_t bits, size_t number) {
    if (!bits)
        turn_end(number);
    else if (number >> (bits - 1) & 1)
        one(bits - 1, number);
    else
        zero(bits - 1, number);
    __asm__ volatile(""); /* no tail call */
}
TURN void zero(size_t bits, size_t number) {
    turn(bits, number);
    __asm__ volatile("");
}
TURN void one(size_t bits, size_t number) {
    turn(bits, number);
    __asm__ volatile("");
}

#endif
