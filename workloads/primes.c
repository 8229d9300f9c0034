/* SPDX-License-Identifier: Apache-2.0 */
/* primes: counts primes by trial division. It allocates nothing: the profile has to say so and still be one. */
#include "workloads/workload.h"

static bool is_prime(uint64_t n) {
    if (n < 4)
        return n >= 2;
    if (n % 2 == 0)
        return false;
    for (uint64_t divisor = 3; divisor * divisor <= n; divisor += 2)
        if (n % divisor == 0)
            return false;
    return true;
}

int main(int argc, char **argv) {
    static struct workload_number numbers[] = {
        {.option = "--n", .help = "count the primes up to here", .max = UINT32_MAX, .value = 1000000},
        {.option = NULL},
    };
    static const struct workload workload = {
        .name = "primes",
        .about = "Counts prime numbers by trial division, without allocating anything.",
        .numbers = numbers,
    };
    uint64_t count = 0;

    workload_start(&workload, argc, argv);
    for (uint64_t n = 2; n <= numbers[0].value; n++)
        count += is_prime(n);
    printf("primes %" PRIu64 "\n", count);
    return workload_end();
}
