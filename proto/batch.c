/* SPDX-License-Identifier: Apache-2.0 */
/* How: one Profile message, of protobuf-c's structs in arrays of fixed sizes, is filled again and again. Whatever does
 * not fit any more has it packed first, through a small buffer, into the gzip stream. So nothing depends on the number
 * of samples, and no entry of the profile is allocated on its own.
 *
 * Samples, which are nearly all of a large profile, are encoded right away, and not by protobuf-c: it takes twice the
 * time of zlib for them. A row of messages reads as one, so they may stand between, and before what they refer to. */
#include "proto/batch.h"

#include "proto/utf8.h"

#include <errno.h>
#include <string.h>

enum {
    LOCATIONS = 1024,
    MAPPINGS = 64,
    FUNCTIONS = 8,
    TEXTS = 256,
    TEXT_BYTES = 65536,
    STAGE = 32768,
};

_Static_assert(BATCH_TEXT_MAX *UTF8_REPLACEMENT_LEN <= TEXT_BYTES, "any text fits an empty batch");

/* Most bytes of a number, of a label with four of them, and of a sample. */
#define VARINT_MAX 10
#define LABEL_MAX (2 + 4 * (1 + VARINT_MAX))
#define SAMPLE_MAX (3 * (1 + VARINT_MAX) + (BATCH_STACK_MAX + BATCH_VALUES) * VARINT_MAX + BATCH_LABELS_MAX * LABEL_MAX)
_Static_assert(SAMPLE_MAX <= STAGE, "any sample fits an empty stage");

/* protobuf-c packs into a ProtobufCBuffer by bytes and varints; they are gathered before they go to zlib. */
struct stage {
    ProtobufCBuffer base;
    struct gzip *gzip;
    size_t used;
    unsigned char bytes[STAGE];
};

struct batch {
    const struct prof_memory *memory;
    struct gzip gzip;
    struct stage stage;
    ProfProfile profile;
    int64_t texts;
    int64_t mappings;
    int64_t locations;
    int64_t functions;
    size_t text_bytes;

    /* A repeated field is an array of pointers for protobuf-c; the pointers never change. */
    ProfMapping *mapping_ptr[MAPPINGS];
    ProfLocation *location_ptr[LOCATIONS];
    ProfFunction *function_ptr[FUNCTIONS];
    ProtobufCBinaryData text[TEXTS];

    ProfMapping mapping[MAPPINGS];
    ProfLocation location[LOCATIONS];
    ProfLine line[LOCATIONS];
    ProfLine *line_ptr[LOCATIONS];
    ProfFunction function[FUNCTIONS];
    unsigned char text_pool[TEXT_BYTES];
};

static void stage_drain(struct stage *stage) {
    if (stage->used > 0)
        gzip_write(stage->gzip, stage->bytes, stage->used);
    stage->used = 0;
}

/* protobuf-c has no way to hear of an error here: gzip keeps it. */
static void stage_append(ProtobufCBuffer *base, size_t len, const uint8_t *data) {
    struct stage *stage = (struct stage *)base;
    if (len > STAGE - stage->used)
        stage_drain(stage);
    if (len > STAGE) {
        gzip_write(stage->gzip, data, len);
        return;
    }
    memcpy(stage->bytes + stage->used, data, len);
    stage->used += len;
}

/* Ids and indices go on from message to message: only the arrays start anew. */
static void start_message(struct batch *batch) {
    perftools__profiles__profile__init(&batch->profile);
    batch->profile.mapping = batch->mapping_ptr;
    batch->profile.location = batch->location_ptr;
    batch->profile.function = batch->function_ptr;
    batch->profile.string_table = batch->text;
    batch->text_bytes = 0;
}

static void link_arrays(struct batch *batch) {
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
    batch->stage.base.append = stage_append;
    batch->stage.gzip = &batch->gzip;
    batch->stage.used = 0;
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
    protobuf_c_message_pack_to_buffer(&batch->profile.base, &batch->stage.base);
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

/* ---- Samples ---- */

enum { FIELD_SAMPLE = 2, FIELD_LOCATION_ID = 1, FIELD_VALUE = 2, FIELD_LABEL = 3 }; /* of profile.proto */
enum { FIELD_KEY = 1, FIELD_STR = 2, FIELD_NUM = 3, FIELD_NUM_UNIT = 4 };
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static size_t varint_size(uint64_t value) {
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static unsigned char *put_varint(unsigned char *to, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *to++ = (unsigned char)(value | 0x80);
    *to++ = (unsigned char)value;
    return to;
}

static unsigned char *put_head(unsigned char *to, unsigned field, size_t len) {
    *to++ = (unsigned char)(field << 3 | WIRE_BYTES);
    return put_varint(to, len);
}

/* Zero is what is read where a field isn't there. */
static size_t number_size(int64_t value) {
    return value != 0 ? 1 + varint_size((uint64_t)value) : 0;
}

static unsigned char *put_number(unsigned char *to, unsigned field, int64_t value) {
    if (value == 0)
        return to;
    *to++ = (unsigned char)(field << 3 | WIRE_VARINT);
    return put_varint(to, (uint64_t)value);
}

static size_t label_size(const ProfLabel *label) {
    return number_size(label->key) + number_size(label->str) + number_size(label->num) + number_size(label->num_unit);
}

static unsigned char *put_label(unsigned char *to, const ProfLabel *label) {
    to = put_head(to, FIELD_LABEL, label_size(label));
    to = put_number(to, FIELD_KEY, label->key);
    to = put_number(to, FIELD_STR, label->str);
    to = put_number(to, FIELD_NUM, label->num);
    return put_number(to, FIELD_NUM_UNIT, label->num_unit);
}

static size_t bytes_size(size_t len) {
    return 1 + varint_size(len) + len;
}

int batch_sample(struct batch *batch, const uint64_t *locations, size_t count, const int64_t values[BATCH_VALUES],
                 const ProfLabel *labels, size_t label_count) {
    struct stage *stage = &batch->stage;
    size_t ids_size = 0, values_size = 0;
    if (count > BATCH_STACK_MAX || label_count > BATCH_LABELS_MAX)
        return -EINVAL;
    if (SAMPLE_MAX > STAGE - stage->used)
        stage_drain(stage);
    for (size_t i = 0; i < count; i++)
        ids_size += varint_size(locations[i]);
    for (size_t i = 0; i < BATCH_VALUES; i++)
        values_size += varint_size((uint64_t)values[i]);
    size_t size = (count > 0 ? bytes_size(ids_size) : 0) + bytes_size(values_size);
    for (size_t i = 0; i < label_count; i++)
        size += bytes_size(label_size(&labels[i]));
    unsigned char *to = put_head(stage->bytes + stage->used, FIELD_SAMPLE, size);
    if (count > 0)
        to = put_head(to, FIELD_LOCATION_ID, ids_size);
    for (size_t i = 0; i < count; i++)
        to = put_varint(to, locations[i]);
    to = put_head(to, FIELD_VALUE, values_size);
    for (size_t i = 0; i < BATCH_VALUES; i++)
        to = put_varint(to, (uint64_t)values[i]);
    for (size_t i = 0; i < label_count; i++)
        to = put_label(to, &labels[i]);
    stage->used = (size_t)(to - stage->bytes);
    return batch->gzip.error;
}

int batch_finish(struct batch *batch) {
    batch_flush(batch);
    stage_drain(&batch->stage);
    return gzip_finish(&batch->gzip);
}

void batch_close(struct batch *batch) {
    if (!batch)
        return;
    gzip_close(&batch->gzip);
    batch->memory->free(batch->memory->ctx, batch);
}
