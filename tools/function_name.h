/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a profile by a name as people write it.
 *
 * Model:   a profile's function has a name for people, without parameters as cprof writes it, and the linker's. A name
 *          that is asked for is one of the two, or what demangling the linker's gives, with or without the
 *          (parameters); blanks are not told apart. The compiler's clones of a function, NAME.constprop.0, are it. */
#ifndef CPROF_TOOLS_FUNCTION_NAME_H
#define CPROF_TOOLS_FUNCTION_NAME_H

#include "proto/profile.h"

#include <stdbool.h>
#include <stddef.h>

struct function_set {
    bool *has;    /* by function id - 1 */
    size_t count; /* entries of the profile... */
    char **names; /* ...and the functions that these are: overloads, instances, or statics of several files */
    size_t n_names;
};

/* Finds them in a valid profile (check.h). Returns 0 or -ENOMEM; function_set_release() is due in either case. */
int function_set_find(struct function_set *set, const ProfProfile *profile, const char *wanted, size_t len);
void function_set_release(struct function_set *set);

#define FUNCTION_NEAR_MAX 3u

/* The names in the profile that may have been meant by one that isn't there: the same one elsewhere, or a letter or two
 * off. They belong to the profile. Returns their number. */
size_t function_near(const ProfProfile *profile, const char *wanted, size_t len,
                     ProtobufCBinaryData near[FUNCTION_NEAR_MAX]);

#endif
