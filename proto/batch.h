/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a profile piece by piece, in bounded memory.
 *
 * Role:    takes strings, mappings, locations, functions and samples one by one, gives them their ids, and writes them
 *          as a row of Profile messages, each of which holds what fits (see profile.proto: they read as one).
 * Model:   an entry may only refer to ids that were handed out before; all of them are dense from 1, strings from 0.
 * Rules:   all memory is taken at batch_open(): about 270 KiB beside gzip's.
 *          Every function that can fail returns a negative errno, also for errors of earlier writes.
 */
#ifndef CPROF_PROTO_BATCH_H
#define CPROF_PROTO_BATCH_H

#include <stdbool.h>
#include "proto/gzip.h"
#include "proto/port.h"
#include "proto/profile.h"

#include <stdint.h>

#define BATCH_STACK_MAX 2048u /* most locations of one sample */
#define BATCH_LABELS_MAX 2u   /* most labels of one sample */
#define BATCH_TEXT_MAX 16384u /* most bytes of one text; the rest of a longer one is left out */
#define BATCH_VALUES 4u       /* values of one sample */

struct batch;

/* Starts a profile. String 0 is there already. */
int batch_open(struct batch **batch, const struct prof_memory *memory, const struct prof_sink *sink, int level, bool small);

/* The message that is being filled. Scalar fields, sample types and comments set here go out with it and are cleared
 * afterwards; what they point to must live until batch_flush(). The other repeated fields are the batch's own. */
ProfProfile *batch_profile(struct batch *batch);

/* Adds a text and returns its index. Bytes that are not UTF-8 become U+FFFD each. */
int64_t batch_text(struct batch *batch, const void *text, size_t len);

/* Each adds an entry and returns its id. `mapping->id` is ignored. `function` 0 leaves out the line. */
int64_t batch_mapping(struct batch *batch, const ProfMapping *mapping);
int64_t batch_function(struct batch *batch, int64_t name);
int64_t batch_location(struct batch *batch, uint64_t mapping, uint64_t address, uint64_t function);

/* Adds a sample; everything is copied. */
int batch_sample(struct batch *batch, const uint64_t *locations, size_t count, const int64_t values[BATCH_VALUES],
                 const ProfLabel *labels, size_t label_count);

/* Writes out what was added so far. */
int batch_flush(struct batch *batch);

/* Flushes and ends the gzip stream: after 0 the profile is complete. */
int batch_finish(struct batch *batch);

/* Frees everything, also after errors. NULL is fine. */
void batch_close(struct batch *batch);

#endif
