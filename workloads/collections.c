/* SPDX-License-Identifier: Apache-2.0 */
/* collections: 1,000,000 integers, the even ones among them, and the squares of those, each in a list of its own.
 *
 * go appends to three slices of 8-byte integers by Go's growth rule:
 *     41678072 + 21083384 + 21083384 = 83844840 bytes in 38 + 35 + 35 arrays.
 * dotnet appends to lists that start with room for 4 and double; their elements are of 4, 4 and 8 bytes. An array
 * for each power of two from 4 to the one that holds all:
 *     4 (2^21 - 4) + 4 (2^20 - 4) + 8 (2^20 - 4) = 20971456 bytes in 19 + 18 + 18 arrays.
 *     (.NET's arrays have a header of 24 bytes, left out here: 1320 bytes of 21 million.)
 * exact asks for what is needed, 8-byte integers again: 8000000 + 4000000 + 4000000 bytes in 3 arrays.
 */
#include "workloads/go_slice.h"
#include "workloads/workload.h"

typedef GO_SLICE(int64_t) long_list;
typedef GO_SLICE(int32_t) int_list;

static struct truth accounts[] = {
    {.function = "append_numbers_go"},     {.function = "append_evens_go"},     {.function = "append_squares_go"},
    {.function = "append_numbers_dotnet"}, {.function = "append_evens_dotnet"}, {.function = "append_squares_dotnet"},
    {.function = "fill_numbers_exact"},    {.function = "fill_evens_exact"},    {.function = "fill_squares_exact"},
};
enum { NUMBERS_GO, EVENS_GO, SQUARES_GO, NUMBERS_DOTNET, EVENS_DOTNET, SQUARES_DOTNET, NUMBERS, EVENS, SQUARES };

/* List<T>.Add. A macro for the reason given at GO_APPEND. */
#define DOTNET_APPEND(list, value, account)                                                                            \
    do {                                                                                                               \
        if ((list).length == (list).capacity) {                                                                        \
            size_t room_ = (list).capacity ? 2 * (list).capacity : 4, bytes_ = room_ * sizeof *(list).data;            \
            void *grown_ = malloc(bytes_);                                                                             \
            truth_add(account, grown_, bytes_);                                                                        \
            if ((list).length)                                                                                         \
                memcpy(grown_, (list).data, (list).length * sizeof *(list).data);                                      \
            free((list).data);                                                                                         \
            (list).data = grown_;                                                                                      \
            (list).capacity = room_;                                                                                   \
        }                                                                                                              \
        (list).data[(list).length++] = (value);                                                                        \
    } while (0)

ALLOCATES static long_list append_numbers_go(int64_t n) {
    long_list numbers = {0};

    for (int64_t i = 0; i < n; i++)
        GO_APPEND(numbers, &i, 1, &accounts[NUMBERS_GO]);
    return numbers;
}

ALLOCATES static long_list append_evens_go(const long_list *numbers) {
    long_list evens = {0};

    for (size_t i = 0; i < numbers->length; i++)
        if (numbers->data[i] % 2 == 0)
            GO_APPEND(evens, &numbers->data[i], 1, &accounts[EVENS_GO]);
    return evens;
}

ALLOCATES static long_list append_squares_go(const long_list *evens) {
    long_list squares = {0};

    for (size_t i = 0; i < evens->length; i++) {
        int64_t square = evens->data[i] * evens->data[i];
        GO_APPEND(squares, &square, 1, &accounts[SQUARES_GO]);
    }
    return squares;
}

ALLOCATES static int_list append_numbers_dotnet(int64_t n) {
    int_list numbers = {0};

    for (int64_t i = 0; i < n; i++)
        DOTNET_APPEND(numbers, (int32_t)i, &accounts[NUMBERS_DOTNET]);
    return numbers;
}

ALLOCATES static int_list append_evens_dotnet(const int_list *numbers) {
    int_list evens = {0};

    for (size_t i = 0; i < numbers->length; i++)
        if (numbers->data[i] % 2 == 0)
            DOTNET_APPEND(evens, numbers->data[i], &accounts[EVENS_DOTNET]);
    return evens;
}

ALLOCATES static long_list append_squares_dotnet(const int_list *evens) {
    long_list squares = {0};

    for (size_t i = 0; i < evens->length; i++)
        DOTNET_APPEND(squares, (int64_t)evens->data[i] * evens->data[i], &accounts[SQUARES_DOTNET]);
    return squares;
}

ALLOCATES static long_list fill_numbers_exact(size_t n) {
    long_list numbers = {.data = malloc(n * sizeof(int64_t)), .length = n, .capacity = n};

    truth_add(&accounts[NUMBERS], numbers.data, n * sizeof(int64_t));
    for (size_t i = 0; i < n; i++)
        numbers.data[i] = (int64_t)i;
    return numbers;
}

ALLOCATES static long_list fill_evens_exact(const long_list *numbers) {
    size_t count = (numbers->length + 1) / 2;
    long_list evens = {.data = malloc(count * sizeof(int64_t)), .capacity = count};

    truth_add(&accounts[EVENS], evens.data, count * sizeof(int64_t));
    for (size_t i = 0; i < numbers->length; i++)
        if (numbers->data[i] % 2 == 0)
            evens.data[evens.length++] = numbers->data[i];
    return evens;
}

ALLOCATES static long_list fill_squares_exact(const long_list *evens) {
    size_t count = evens->length;
    long_list squares = {.data = malloc(count * sizeof(int64_t)), .length = count, .capacity = count};

    truth_add(&accounts[SQUARES], squares.data, count * sizeof(int64_t));
    for (size_t i = 0; i < count; i++)
        squares.data[i] = evens->data[i] * evens->data[i];
    return squares;
}

/* The same in every variant. */
static void print_result(size_t numbers, size_t evens, const long_list *squares) {
    uint64_t sum = 0;

    for (size_t i = 0; i < squares->length; i++)
        sum += (uint64_t)squares->data[i];
    printf("numbers %zu\nevens %zu\nsquares %zu\nsum %" PRIu64 "\n", numbers, evens, squares->length, sum);
}

static void run_go(uint64_t n) {
    long_list numbers = append_numbers_go((int64_t)n);
    long_list evens = append_evens_go(&numbers);
    long_list squares = append_squares_go(&evens);

    print_result(numbers.length, evens.length, &squares);
    free(numbers.data);
    free(evens.data);
    free(squares.data);
}

static void run_dotnet(uint64_t n) {
    int_list numbers = append_numbers_dotnet((int64_t)n);
    int_list evens = append_evens_dotnet(&numbers);
    long_list squares = append_squares_dotnet(&evens);

    print_result(numbers.length, evens.length, &squares);
    free(numbers.data);
    free(evens.data);
    free(squares.data);
}

static void run_exact(uint64_t n) {
    long_list numbers = fill_numbers_exact(n);
    long_list evens = fill_evens_exact(&numbers);
    long_list squares = fill_squares_exact(&evens);

    print_result(numbers.length, evens.length, &squares);
    free(numbers.data);
    free(evens.data);
    free(squares.data);
}

int main(int argc, char **argv) {
    static const char *const variants[] = {"go", "dotnet", "exact", NULL};
    static void (*const run[])(uint64_t) = {run_go, run_dotnet, run_exact};
    static struct workload_number numbers[] = {
        {.option = "--n", .help = "integers in the first list", .max = 100000000, .value = 1000000},
        {.option = NULL},
    };
    static const struct workload workload = {
        .name = "collections",
        .about = "Fills lists with integers, the even ones and their squares, by different rules of growth.",
        .variants = variants,
        .numbers = numbers,
    };
    int variant = workload_start(&workload, argc, argv);

    run[variant](numbers[0].value);
    for (size_t i = 0; i < sizeof accounts / sizeof *accounts; i++)
        truth_print(&accounts[i]);
    return workload_end();
}
