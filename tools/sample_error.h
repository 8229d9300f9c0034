/* SPDX-License-Identifier: Apache-2.0 */
/* How far off estimated figures may be, from a profile alone: by the blocks that must have been sampled to give them.
 */
#ifndef CPROF_TOOLS_SAMPLE_ERROR_H
#define CPROF_TOOLS_SAMPLE_ERROR_H

#include "proto/estimate.h"

/* Adds the variance of what a sample of the profile says: `bytes` in `blocks`. */
void sample_error_add(struct estimate_total *total, uint64_t bytes, uint64_t blocks, uint64_t rate);

#endif
