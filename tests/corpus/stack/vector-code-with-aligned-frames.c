/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: stack unwinding (frames that are realigned for vectors, with variable arrays)
 * Symptom: the CFA of a realigned frame is not at a fixed distance from any register, and the walk goes astray
 * Right: exit 0, stdout "ok": AVX code with 32-byte aligned locals, alloca and variable arrays calls an allocating
 *     function; its callers are found.
 *
 * NEEDS cpu avx
 * BUILD $CC -O3 -mavx $SRC -o $BIN
 * EXPECT func below_vectors 3000 48000 0 0
 * EXPECT under with_alloca 1000 16000 0 0
 * EXPECT under with_array 1000 16000 0 0
 * EXPECT under with_vector 3000 48000 0 0
 * EXPECT stack below_vectors<-with_vector<-with_alloca<-main
 * EXPECT stack below_vectors<-with_vector<-with_array<-main
 */
#include "tests/corpus/case.h"

#include <alloca.h>
#include <immintrin.h>
#include <stdlib.h>

NOINLINE static void *below_vectors(void) {
    void *p = malloc(16);
    KEEP(p);
    return p;
}

NOINLINE static float with_vector(const float *from) {
    float room[64] __attribute__((aligned(32)));
    float *aligned = room;
    KEEP(aligned);
    __m256 sum = _mm256_loadu_ps(from);
    free(below_vectors());
    _mm256_store_ps(aligned, _mm256_add_ps(sum, sum));
    KEEP(aligned);
    return aligned[7];
}

NOINLINE static float with_alloca(int n) {
    float *room = alloca((size_t)n * sizeof *room + 8 * sizeof *room);
    for (int i = 0; i < n + 8; i++)
        room[i] = 1;
    float r = with_vector(room + n);
    KEEP(room);
    return r;
}

NOINLINE static float with_array(int n) {
    float room[n + 8], other[n + 1] __attribute__((aligned(64)));
    for (int i = 0; i < n + 8; i++)
        room[i] = 1;
    float *o = other;
    KEEP(o);
    float r = with_vector(room);
    KEEP(o);
    return r;
}

int main(void) {
    static const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    float sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += with_alloca(i % 50) + with_array(i % 70) + with_vector(ones);
    return sum == 6000 ? say_ok() : 1;
}
