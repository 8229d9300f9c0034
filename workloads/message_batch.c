/* SPDX-License-Identifier: Apache-2.0 */
/* message_batch: 1000 messages of 64 bytes, put into one buffer again and again.
 *
 * growing appends them one by one to an empty slice of bytes, so that Go's growth rule allocates 19 arrays with
 * 285376 bytes together for each batch: 27868.75 kB in the 100 batches of a default run, four times what is kept.
 * preallocated asks once for room for all, which Go rounds up to whole pages: 65536 bytes, 6400 kB in 100 batches.
 */
#include "workloads/go_slice.h"
#include "workloads/workload.h"

#define MESSAGES 1000

struct message {
    uint64_t id;
    uint64_t sent;
    uint32_t kind;
    uint32_t length;
    unsigned char payload[40];
};
_Static_assert(sizeof(struct message) == 64, "a message is 64 bytes");

typedef GO_SLICE(unsigned char) byte_slice;

static struct truth growing = {.function = "build_message_batch_growing"};
static struct truth preallocated = {.function = "build_message_batch_preallocated"};

static struct message make_message(uint64_t batch, uint64_t index) {
    struct message m = {.id = batch * MESSAGES + index, .sent = 1700000000 + index, .kind = index % 7};

    m.length = 1 + (uint32_t)(m.id % sizeof m.payload);
    memset(m.payload, (int)('a' + index % 26), m.length);
    return m;
}

ALLOCATES static byte_slice build_message_batch_growing(uint64_t batch) {
    byte_slice buffer = {0};

    for (uint64_t i = 0; i < MESSAGES; i++) {
        struct message m = make_message(batch, i);
        GO_APPEND(buffer, &m, sizeof m, &growing);
    }
    return buffer;
}

ALLOCATES static byte_slice build_message_batch_preallocated(uint64_t batch) {
    size_t bytes = go_round_up(MESSAGES * sizeof(struct message));
    byte_slice buffer = {.data = malloc(bytes), .capacity = bytes};

    truth_add(&preallocated, buffer.data, bytes);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        struct message m = make_message(batch, i);
        memcpy(buffer.data + buffer.length, &m, sizeof m);
        buffer.length += sizeof m;
    }
    return buffer;
}

int main(int argc, char **argv) {
    static const char *const variants[] = {"growing", "preallocated", NULL};
    static struct workload_number numbers[] = {
        {.option = "--ops", .help = "batches to build", .max = 1000000, .value = 100},
        {.option = NULL},
    };
    static const struct workload workload = {
        .name = "message_batch",
        .about = "Builds batches of 1000 messages of 64 bytes, in a growing or in a preallocated buffer.",
        .variants = variants,
        .numbers = numbers,
    };
    int variant = workload_start(&workload, argc, argv);
    uint64_t hash = WORKLOAD_HASH, count = 0;

    for (uint64_t op = 0; op < numbers[0].value; op++) {
        byte_slice batch = variant == 0 ? build_message_batch_growing(op) : build_message_batch_preallocated(op);
        hash = workload_hash(hash, batch.data, batch.length);
        count += batch.length / sizeof(struct message);
        free(batch.data);
    }
    printf("messages %" PRIu64 "\nhash %016" PRIx64 "\n", count, hash);
    truth_print(&growing);
    truth_print(&preallocated);
    return workload_end();
}
