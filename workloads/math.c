/* SPDX-License-Identifier: Apache-2.0 */
/* math: sums up square roots, sines and logarithms. It allocates nothing: the profile has to say so and still be
 * one. */
#include "workloads/workload.h"

#include <math.h>

int main(int argc, char **argv) {
    static struct workload_number numbers[] = {
        {.option = "--n", .help = "terms of the sum", .max = UINT32_MAX, .value = 5000000},
        {.option = NULL},
    };
    static const struct workload workload = {
        .name = "math",
        .about = "Sums up square roots, sines and logarithms, without allocating anything.",
        .numbers = numbers,
    };
    double sum = 0;

    workload_start(&workload, argc, argv);
    for (uint64_t n = 1; n <= numbers[0].value; n++) {
        double x = (double)n;
        sum += sqrt(x) * sin(x) / log(x + 1);
    }
    printf("sum %.6f\n", sum);
    return workload_end();
}
