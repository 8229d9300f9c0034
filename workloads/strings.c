/* SPDX-License-Identifier: Apache-2.0 */
/* strings: appends the decimals of 0, 1, 2… 99,999 to a text, and cuts the text to its first 5,000 characters
 * whenever it is longer than 10,000. Three ways of doing so, modelled on what Go's runtime allocates:
 *
 * concat: s += fmt.Sprintf("%d", i). Every append is a new string of the exact length, rounded up to a size class;
 *     Sprintf boxes its argument (8 bytes, from 256 on) and returns a string of 1 to 5 bytes, both of which Go packs
 *     into blocks of 16 bytes. A cut shares the memory of the string it is taken from.
 * builder: strings.Builder and strconv.Itoa (from 100 on a small string, packed likewise). The buffer grows as a
 *     slice does; a cut resets the builder, whose next buffer starts with the 5,000 characters.
 * span: strconv.AppendInt into a slice over 10,000 bytes on the stack. The first text past 10,000 characters moves
 *     it to the heap, where a cut keeps the room; the string made of it in the end is the second block.
 *
 *                 bytes here    the same in Go 1.19.8    published (1 MB = 2^20, 1 KB = 2^10 bytes)
 *     concat       788035040    788035008                751.6 MB; here 751.53
 *     builder        3821784    3821792                  3.6 MB; here 3.64
 *     span             23040    23040                    22.6 KB; here 22.50
 *
 * Go's figures are differences of runtime.MemStats.TotalAlloc with the garbage collector off; with it on, concat came
 * to 788110456, or 751.60 MB. What is left between ours and Go's are texts of less than 16 bytes, which Go packs as
 * well and concat here does not. The two blocks of span are all that such a program needs; published are 100 bytes
 * more.
 *
 * In .NET a string is 22 bytes and 2 for each character, rounded up to 8, and a cut copies. The same appends are then
 *     1490355400 bytes for concat (1.39 GB, published: 1.4), 53008 for a StringBuilder with room for 10,000 that is
 *     cut by Remove, its second chunk and its ToString (51.8 KB, published: 52), and 16864 for the one string that is
 *     left when all else is on the stack (16.5 KB, published: 16.5).
 */
#include "workloads/go_slice.h"
#include "workloads/workload.h"

#define LONGEST 10000
#define KEPT 5000
#define TINY_BLOCK 16

typedef GO_SLICE(char) text;

static struct truth tiny_truth = {.function = "allocate_tiny"};
static struct truth concat_truth = {.function = "concat_strings"};
static struct truth builder_truth = {.function = "builder_write"};
static struct truth span_truth = {.function = "span_append"};
static struct truth string_truth = {.function = "span_to_string"};

/* Go's allocator of tiny objects: packs what has less than 16 bytes and no pointers into blocks of 16. */
static struct {
    char *block;
    size_t used;
} tiny;

/* Returns memory for `bytes` (1 to 8) bytes, aligned as Go would. It is valid until the next block is started:
 * no text of a decimal is looked at again after the following one was made. */
ALLOCATES static char *allocate_tiny(size_t bytes) {
    size_t alignment = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
    size_t at = (tiny.used + alignment - 1) / alignment * alignment;

    if (!tiny.block || at + bytes > TINY_BLOCK) {
        char *block = malloc(TINY_BLOCK);
        truth_add(&tiny_truth, block, TINY_BLOCK);
        free(tiny.block);
        tiny.block = block;
        at = 0;
    }
    tiny.used = at + bytes;
    return tiny.block + at;
}

/* Writes the decimal of `n` (no more than eight digits) and returns its length. */
static size_t write_decimal(char *to, uint64_t n) {
    char digits[8];
    size_t length = 0;

    do
        digits[length++] = (char)('0' + n % 10);
    while (n /= 10);
    for (size_t i = 0; i < length; i++)
        to[i] = digits[length - 1 - i];
    return length;
}

/* fmt.Sprintf("%d", n): boxes n, formats into a buffer that is reused, and makes a string of it. */
static const char *sprintf_decimal(uint64_t n, size_t *length) {
    char buffer[8], *string;

    if (n >= 256)
        memcpy(allocate_tiny(sizeof n), &n, sizeof n);
    *length = write_decimal(buffer, n);
    string = allocate_tiny(*length);
    memcpy(string, buffer, *length);
    return string;
}

/* strconv.Itoa(n): the strings below 100 are part of Go's runtime. */
static const char *itoa_decimal(uint64_t n, size_t *length) {
    static char small[8];
    char buffer[8], *string;

    *length = write_decimal(buffer, n);
    string = n < 100 ? small : allocate_tiny(*length);
    memcpy(string, buffer, *length);
    return string;
}

ALLOCATES static text concat_strings(text left, const char *right, size_t length) {
    text joined = {.length = left.length + length, .capacity = go_round_up(left.length + length)};

    joined.data = malloc(joined.capacity);
    truth_add(&concat_truth, joined.data, joined.capacity);
    if (left.length)
        memcpy(joined.data, left.data, left.length);
    memcpy(joined.data + left.length, right, length);
    return joined;
}

static text run_concat(uint64_t n) {
    text result = {0};

    for (uint64_t i = 0; i < n; i++) {
        size_t length;
        const char *decimal = sprintf_decimal(i, &length);
        text joined = concat_strings(result, decimal, length);

        free(result.data);
        result = joined;
        if (result.length > LONGEST)
            result.length = KEPT;
    }
    return result;
}

ALLOCATES static void builder_write(text *builder, const char *from, size_t length) {
    GO_APPEND(*builder, from, length, &builder_truth);
}

static text run_builder(uint64_t n) {
    text builder = {0};

    for (uint64_t i = 0; i < n; i++) {
        size_t length;
        const char *decimal = itoa_decimal(i, &length);

        builder_write(&builder, decimal, length);
        if (builder.length > LONGEST) {
            text before = builder;
            builder = (text){0};
            builder_write(&builder, before.data, KEPT);
            free(before.data);
        }
    }
    return builder;
}

/* `span` starts on the stack of its owner: the memory it had there is not freed when it outgrows it. */
ALLOCATES static void span_append(text *span, const char *on_stack, const char *from, size_t length) {
    if (span->length + length > span->capacity) {
        size_t bytes = go_grown_bytes(span->capacity, span->length + length, 1);
        char *grown = malloc(bytes);
        truth_add(&span_truth, grown, bytes);
        memcpy(grown, span->data, span->length);
        if (span->data != on_stack)
            free(span->data);
        span->data = grown;
        span->capacity = bytes;
    }
    memcpy(span->data + span->length, from, length);
    span->length += length;
}

ALLOCATES static text span_to_string(const text *span) {
    text string = {.length = span->length, .capacity = go_round_up(span->length)};

    string.data = malloc(string.capacity);
    truth_add(&string_truth, string.data, string.capacity);
    memcpy(string.data, span->data, span->length);
    return string;
}

static text run_span(uint64_t n) {
    char on_stack[LONGEST];
    text span = {.data = on_stack, .capacity = sizeof on_stack}, string;

    for (uint64_t i = 0; i < n; i++) {
        char decimal[8];

        span_append(&span, on_stack, decimal, write_decimal(decimal, i));
        if (span.length > LONGEST)
            span.length = KEPT;
    }
    string = span_to_string(&span);
    if (span.data != on_stack)
        free(span.data);
    return string;
}

int main(int argc, char **argv) {
    static const char *const variants[] = {"concat", "builder", "span", NULL};
    static text (*const run[])(uint64_t) = {run_concat, run_builder, run_span};
    static struct workload_number numbers[] = {
        {.option = "--n", .help = "decimals to append", .max = 10000000, .value = 100000},
        {.option = NULL},
    };
    static const struct workload workload = {
        .name = "strings",
        .about = "Appends decimals to a text that is cut when it gets long, by concatenation or into a buffer.",
        .variants = variants,
        .numbers = numbers,
    };
    int variant = workload_start(&workload, argc, argv);
    text result = run[variant](numbers[0].value);

    printf("length %zu\nhash %016" PRIx64 "\n", result.length,
           workload_hash(WORKLOAD_HASH, result.data, result.length));
    free(result.data);
    free(tiny.block);
    truth_print(&tiny_truth);
    truth_print(&concat_truth);
    truth_print(&builder_truth);
    truth_print(&span_truth);
    truth_print(&string_truth);
    return workload_end();
}
