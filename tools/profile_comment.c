/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/profile_comment.h"

#include "proto/comment.h"
#include "proto/estimate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024u /* holds the figures, which come first */

/* The number behind `name`; 0 if there is none. */
static uint64_t number_of(const char *text, const char *name) {
    const char *at = strstr(text, name);
    uint64_t number = 0;
    return at && sscanf(at + strlen(name), "%" SCNu64, &number) == 1 ? number : 0;
}

static void read_one(const char *text, struct profile_comment *comment) {
    const char *exact = strstr(text, ": exact alloc_space=");
    if (!exact)
        return;
    if (!comment->exact)
        comment->exact = sscanf(exact, ": exact alloc_space=%" SCNu64 " alloc_objects=%" SCNu64, &comment->alloc_bytes,
                                &comment->alloc_objects) == 2;
    uint64_t dropped = number_of(exact, ", dropped "), over_limit = number_of(exact, ", over memory limit ");
    bool said = strstr(exact, COMMENT_INCOMPLETE), at_least = strstr(exact, COMMENT_INCOMPLETE COMMENT_AT_LEAST);
    comment->dropped = add_saturated(comment->dropped, dropped);
    comment->over_limit = add_saturated(comment->over_limit, over_limit);
    comment->incomplete |= said || dropped > 0 || over_limit > 0;
    comment->unsure |= dropped > 0 || (said && !at_least);
}

void profile_comment_read(const ProfProfile *profile, struct profile_comment *comment) {
    char text[TEXT_MAX];
    *comment = (struct profile_comment){0};
    for (size_t i = 0; i < profile->n_comment; i++) {
        ProtobufCBinaryData data = profile_text(profile, profile->comment[i]);
        snprintf(text, sizeof text, "%.*s", (int)(data.len < sizeof text ? data.len : sizeof text),
                 (const char *)data.data);
        read_one(text, comment);
        comment->peak |= memmem(data.data, data.len, "; in use: at the peak", 21) != NULL;
    }
}
