/* SPDX-License-Identifier: Apache-2.0 */
/* Which allocations are recorded.
 *
 * Model: sample points lie on the line of all bytes that a thread asks for, as a Poisson process of one point in
 * `rate` bytes on average. An allocation is recorded if at least one point falls into it, so one of n bytes is recorded
 * with probability p(n) = 1 - exp(-n / rate), whatever came before it. Each recorded allocation then stands for 1/p(n)
 * of its kind, which makes count * 1/p(n) an unbiased estimate (Horvitz-Thompson); the encoder does that (proto/encode.c).
 *
 *     rate 524288:  n = 64: p = 0.000122    n = 4096: p = 0.00778    n = 524288: p = 0.632    n = 4 MiB: p = 0.99966
 *
 * Mechanism: the distance to the next point is drawn from the exponential distribution of mean `rate`, in whole bytes
 * rounded down, and counted down by each allocation's size; the allocation that brings it below zero is recorded and a new
 * distance is drawn from its end on. (floor(X) - n < 0 exactly if X < n, so rounding costs nothing.) Since the
 * distribution has no memory it does not matter where a thread starts, nor what is thrown away of the last distance.
 *
 * At rate 1 nothing is drawn: the countdown is kept negative, so that every allocation, also of 0 bytes, is recorded. */
#ifndef CPROF_RECORD_SAMPLER_H
#define CPROF_RECORD_SAMPLER_H

#include <stdint.h>

/* Largest accepted rate, 2^40 bytes: a draw of it always fits in 63 bits. */
#define SAMPLER_MAX_RATE (1ull << 40)

/* Next of a sequence of uniformly distributed 64-bit numbers; the state may start at any value.
 * SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
uint64_t sampler_random(uint64_t *state);

/* -ln(u) for u uniform in (0, 1], made of the 64 random bits, in units of 2^-32. Integers only: a signal handler or a
 * program that traps floating-point exceptions sees nothing of it. Exact to 2^-32; mean 1. */
uint64_t sampler_exponential(uint64_t bits);

/* Bytes to the next sample point. 1 <= rate <= SAMPLER_MAX_RATE. */
int64_t sampler_draw(uint64_t rate, uint64_t *state);

#endif
