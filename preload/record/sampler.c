/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/sampler.h"

uint64_t sampler_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* u = (bits + 1) / 2^64, so -log2(u) = 64 - log2(bits + 1). The fraction of the logarithm comes bit by bit from squaring
 * the mantissa: if m in [1, 2) squared reaches 2, the next bit is 1. */
uint64_t sampler_exponential(uint64_t bits) {
    if (bits == UINT64_MAX)
        return 0;
    uint64_t x = bits + 1;
    unsigned whole = 63 - (unsigned)__builtin_clzll(x);
    uint64_t m = x << (63 - whole); /* mantissa, 1.0 = 2^63 */
    uint64_t fraction = 0;          /* 36 bits are computed: four more than are kept */
    for (int i = 0; i < 36; i++) {
        unsigned __int128 square = (unsigned __int128)m * m >> 63;
        fraction <<= 1;
        if (square >> 64) {
            fraction |= 1;
            square >>= 1;
        }
        m = (uint64_t)square;
    }
    uint64_t log2 = ((uint64_t)(64 - whole) << 36) - fraction; /* -log2(u) in units of 2^-36, up to 64 */
    /* ln 2 = 0.693147180559945309..., in units of 2^-64 */
    return (uint64_t)(((unsigned __int128)log2 * 0xb17217f7d1cf79abull) >> 64 >> 4);
}

int64_t sampler_draw(uint64_t rate, uint64_t *state) {
    return (int64_t)((unsigned __int128)rate * sampler_exponential(sampler_random(state)) >> 32);
}
