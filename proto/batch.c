/* SPDX-License-Identifier: Apache-2.0 */
/* How: one Profile message, of protobuf-c's structs in arrays of fixed sizes, is filled again and again. Whatever does
 * not fit any more has it packed first and put into the gzip stream. So nothing depends on the number of samples, and no
 * entry of the profile is allocated on its own. Packed into memory, since protobuf-c's way through a ProtobufCBuffer is a
 * call for each number. */
#include "proto/batch.h"

#include "proto/utf8.h"

#include <errno.h>
#include <string.h>

enum {
    SAMPLES = 256,
    LOCATION_IDS = 8192,
    LOCATIONS = 1024,
    MAPPINGS = 64,
    FUNCTIONS = 8,
    TEXTS = 256,
    TEXT_BYTES = 65536,
    /* Most bytes of a field with a number, of what stands before a message or a packed field, and of all that fits. */
    NUMBER = 1 + 10,
    PREFIX = 1 + 5,
    PACKED = LOCATION_IDS * 10 + SAMPLES * (3 * PREFIX + BATCH_VALUES * 10 + BATCH_LABELS_MAX * (PREFIX + 4 * NUMBER)) +
             MAPPINGS * (PREFIX + 10 * NUMBER) + LOCATIONS * (2 * PREFIX + 4 * NUMBER + 3 * NUMBER) +
             FUNCTIONS * (PREFIX + 5 * NUMBER) + TEXTS * PREFIX + TEXT_BYTES +
             /* the few fields of the profile itself, with its comments */
             1024,
};

_Static_assert(BATCH_TEXT_MAX *UTF8_REPLACEMENT_LEN <= TEXT_BYTES, "any text fits an empty batch");
_Static_assert(BATCH_STACK_MAX <= LOCATION_IDS, "any stack fits an empty batch");

struct batch {
    const struct prof_memory *memory;
    struct gzip gzip;
    ProfProfile profile;
    int64_t texts;
    int64_t mappings;
    int64_t locations;
    int64_t functions;
    size_t id_count;
    size_t text_bytes;

    /* A repeated field is an array of pointers for protobuf-c; the pointers never change. */
    ProfSample *sample_ptr[SAMPLES];
    ProfMapping *mapping_ptr[MAPPINGS];
    ProfLocation *location_ptr[LOCATIONS];
    ProfFunction *function_ptr[FUNCTIONS];
    ProtobufCBinaryData text[TEXTS];

    ProfSample sample[SAMPLES];
    int64_t value[SAMPLES][BATCH_VALUES];
    ProfLabel label[SAMPLES][BATCH_LABELS_MAX];
    ProfLabel *label_ptr[SAMPLES][BATCH_LABELS_MAX];
    uint64_t id[LOCATION_IDS];
    ProfMapping mapping[MAPPINGS];
    ProfLocation location[LOCATIONS];
    ProfLine line[LOCATIONS];
    ProfLine *line_ptr[LOCATIONS];
    ProfFunction function[FUNCTIONS];
    unsigned char text_pool[TEXT_BYTES];
    unsigned char packed[PACKED];
};

/* Ids and indices go on from message to message: only the arrays start anew. */
static void start_message(struct batch *batch) {
    perftools__profiles__profile__init(&batch->profile);
    batch->profile.sample = batch->sample_ptr;
    batch->profile.mapping = batch->mapping_ptr;
    batch->profile.location = batch->location_ptr;
    batch->profile.function = batch->function_ptr;
    batch->profile.string_table = batch->text;
    batch->id_count = 0;
    batch->text_bytes = 0;
}

static void link_arrays(struct batch *batch) {
    for (size_t i = 0; i < SAMPLES; i++) {
        batch->sample_ptr[i] = &batch->sample[i];
        for (size_t k = 0; k < BATCH_LABELS_MAX; k++)
            batch->label_ptr[i][k] = &batch->label[i][k];
    }
    for (size_t i = 0; i < MAPPINGS; i++)
        batch->mapping_ptr[i] = &batch->mapping[i];
    for (size_t i = 0; i < LOCATIONS; i++) {
        batch->location_ptr[i] = &batch->location[i];
        batch->line_ptr[i] = &batch->line[i];
    }
    for (size_t i = 0; i < FUNCTIONS; i++)
        batch->function_ptr[i] = &batch->function[i];
}

int batch_open(struct batch **out, const struct prof_memory *memory, const struct prof_sink *sink, int level,
               bool small) {
    *out = NULL;
    struct batch *batch = memory->alloc(memory->ctx, sizeof *batch);
    if (!batch)
        return -ENOMEM;
    batch->memory = memory;
    batch->texts = batch->mappings = batch->locations = batch->functions = 0;
    int rc = gzip_open(&batch->gzip, memory, sink, level, small);
    if (rc < 0) {
        memory->free(memory->ctx, batch);
        return rc;
    }
    link_arrays(batch);
    start_message(batch);
    batch_text(batch, "", 0);
    *out = batch;
    return 0;
}

ProfProfile *batch_profile(struct batch *batch) {
    return &batch->profile;
}

int batch_flush(struct batch *batch) {
    if (protobuf_c_message_get_packed_size(&batch->profile.base) > PACKED)
        batch->gzip.error = -EOVERFLOW; /* the sum above is wrong */
    else
        gzip_write(&batch->gzip, batch->packed, protobuf_c_message_pack(&batch->profile.base, batch->packed));
    start_message(batch);
    return batch->gzip.error;
}

/* Number of bytes that the text takes with its faults replaced; written to `to` unless that is NULL. */
static size_t clean_text(unsigned char *to, const unsigned char *from, size_t len) {
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        size_t good = utf8_valid_length(from + i, len - i);
        if (to)
            memcpy(to + used, from + i, good);
        used += good;
        i += good;
        if (i == len)
            break;
        if (to)
            memcpy(to + used, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
        used += UTF8_REPLACEMENT_LEN;
    }
    return used;
}

int64_t batch_text(struct batch *batch, const void *text, size_t len) {
    if (len > BATCH_TEXT_MAX)
        len = BATCH_TEXT_MAX;
    size_t size = clean_text(NULL, text, len);
    if (batch->profile.n_string_table == TEXTS || size > TEXT_BYTES - batch->text_bytes) {
        int rc = batch_flush(batch);
        if (rc < 0)
            return rc;
    }
    /* The pool is only read when the message is packed: texts stay where they are till then. */
    unsigned char *to = batch->text_pool + batch->text_bytes;
    clean_text(to, text, len);
    batch->text_bytes += size;
    batch->text[batch->profile.n_string_table++] = (ProtobufCBinaryData){.len = size, .data = to};
    return batch->texts++;
}

int64_t batch_mapping(struct batch *batch, const ProfMapping *mapping) {
    int rc = batch->profile.n_mapping < MAPPINGS ? 0 : batch_flush(batch);
    if (rc < 0)
        return rc;
    ProfMapping *to = &batch->mapping[batch->profile.n_mapping++];
    *to = *mapping;
    to->id = (uint64_t)++batch->mappings;
    return batch->mappings;
}

int64_t batch_function(struct batch *batch, int64_t name) {
    int rc = batch->profile.n_function < FUNCTIONS ? 0 : batch_flush(batch);
    if (rc < 0)
        return rc;
    ProfFunction *to = &batch->function[batch->profile.n_function++];
    perftools__profiles__function__init(to);
    to->id = (uint64_t)++batch->functions;
    to->name = name;
    to->system_name = name; /* as pprof expects where there is no other */
    return batch->functions;
}

int64_t batch_location(struct batch *batch, uint64_t mapping, uint64_t address, uint64_t function) {
    int rc = batch->profile.n_location < LOCATIONS ? 0 : batch_flush(batch);
    if (rc < 0)
        return rc;
    size_t i = batch->profile.n_location++;
    ProfLocation *to = &batch->location[i];
    perftools__profiles__location__init(to);
    to->id = (uint64_t)++batch->locations;
    to->mapping_id = mapping;
    to->address = address;
    if (function != 0) {
        perftools__profiles__line__init(&batch->line[i]);
        batch->line[i].function_id = function;
        to->line = &batch->line_ptr[i];
        to->n_line = 1;
    }
    return batch->locations;
}

int batch_sample(struct batch *batch, const uint64_t *locations, size_t count, const int64_t values[BATCH_VALUES],
                 const ProfLabel *labels, size_t label_count) {
    if (count > BATCH_STACK_MAX || label_count > BATCH_LABELS_MAX)
        return -EINVAL;
    if (batch->profile.n_sample == SAMPLES || count > LOCATION_IDS - batch->id_count) {
        int rc = batch_flush(batch);
        if (rc < 0)
            return rc;
    }
    size_t i = batch->profile.n_sample++;
    ProfSample *to = &batch->sample[i];
    perftools__profiles__sample__init(to);
    to->location_id = memcpy(&batch->id[batch->id_count], locations, count * sizeof *locations);
    to->n_location_id = count;
    batch->id_count += count;
    to->value = memcpy(batch->value[i], values, sizeof batch->value[i]);
    to->n_value = BATCH_VALUES;
    memcpy(batch->label[i], labels, label_count * sizeof *labels);
    to->label = batch->label_ptr[i];
    to->n_label = label_count;
    return 0;
}

int batch_finish(struct batch *batch) {
    batch_flush(batch);
    return gzip_finish(&batch->gzip);
}

void batch_close(struct batch *batch) {
    if (!batch)
        return;
    gzip_close(&batch->gzip);
    batch->memory->free(batch->memory->ctx, batch);
}
