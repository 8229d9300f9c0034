/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were looked up, kept by file and place in it, for all profiles that are served.
 *
 * Role:    what `cprof symbolize` finds out is found out once for each build of a file and each address in it. Looking
 *          up is done by another process (serve_worker.h); here is what it found, and what is still to be looked up.
 * Key:     the file's path and build id, or, without one, when it was changed last; and the offset in it.
 * Bounds:  with more than NAMES_PLACES_MAX addresses or NAMES_FILES_MAX files, all is forgotten and begun anew. */
#ifndef CPROF_TOOLS_SERVE_NAMES_H
#define CPROF_TOOLS_SERVE_NAMES_H

#include "proto/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NAMES_PLACES_MAX 2000000u
#define NAMES_FILES_MAX 5000u

struct name_cache;

/* NULL without memory. */
struct name_cache *name_cache_new(void);
void name_cache_free(struct name_cache *cache);

/* Part of a profile: one mapping and addresses in it that have no names yet, as a profile of their own, without
 * samples. */
struct names_wanted {
    size_t file; /* the cache's own number of it; files that were forgotten have none of the present ones */
    ProfProfile *profile;
};

struct names_list {
    struct names_wanted *at;
    size_t count;
    uint64_t generation; /* of the cache */
    pid_t process;       /* whose profile it is; 0: not known */
};

/* Gives the locations of a profile of load_settle() the names that are known. What is to be looked up is added to
 * *wanted, if that isn't NULL; names_list_free() is due. Returns 0 or -ENOMEM. */
int name_cache_apply(struct name_cache *cache, ProfProfile *profile, struct names_list *wanted);

/* Takes what was found: `found` is wanted->profile as symbolize_profile() left it. `complete` is false if there was no
 * time for some of it, so that what has no name now may be looked up again. Returns 0 or -ENOMEM. */
int name_cache_take(struct name_cache *cache, const struct names_list *list, const struct names_wanted *wanted,
                    const ProfProfile *found, bool complete);

/* Of that file nothing more is to be looked up: trying it has cost a process its life. */
void name_cache_give_up(struct name_cache *cache, const struct names_list *list, const struct names_wanted *wanted);

void names_list_free(struct names_list *list);

#endif
