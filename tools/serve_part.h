/* SPDX-License-Identifier: Apache-2.0 */
/* Part of a profile, as a profile of its own: one of its mappings and addresses in that. */
#ifndef CPROF_TOOLS_SERVE_PART_H
#define CPROF_TOOLS_SERVE_PART_H

#include "proto/profile.h"

#include <stddef.h>
#include <stdint.h>

/* A profile of the time of another one, with a mapping of that, or none if `mapping` is NULL, and room for `room`
 * locations. For profile_free(); NULL without memory. */
ProfProfile *name_part_new(const ProfProfile *profile, const ProfMapping *mapping, size_t room);

/* Adds a location. Returns 0 or -ENOMEM. */
int name_part_add(ProfProfile *part, uint64_t address);

#endif
