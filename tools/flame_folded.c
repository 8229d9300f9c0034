/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as lines of text, as other programs for flame graphs take them: ROOT;...;LEAF VALUE. */
#include "tools/flame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* A name on a line where ; and the end of the line mean something. */
static void print_name(FILE *out, struct flame_bytes name) {
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.at[i];
        putc(c == ';' ? ':' : c < ' ' || c == 0x7f ? ' ' : c, out);
    }
}

static void print_stack(FILE *out, const struct flame *flame, const uint32_t *path, size_t depth) {
    if (depth == 0)
        fputs("[no stack]", out);
    for (size_t i = 1; i <= depth; i++) {
        if (i > 1)
            putc(';', out);
        print_name(out, flame_text_bytes(flame, flame->frames[flame->nodes[path[i]].frame].name));
    }
}

int flame_print_folded(FILE *out, const struct flame *flame, size_t type) {
    int64_t *totals = flame_totals(flame, false);
    struct flame_step *steps = totals ? flame_walk(flame, totals, type) : NULL;
    uint32_t *path = calloc(flame->nodes_count, sizeof *path);
    bool good = steps && path;
    for (size_t i = 0; good && i < flame->nodes_count; i++) {
        int64_t own = flame->own[steps[i].node * flame->types + type];
        path[steps[i].depth] = steps[i].node;
        if (own == 0)
            continue;
        print_stack(out, flame, path, steps[i].depth);
        fprintf(out, " %" PRId64 "\n", own);
    }
    free(path);
    free(steps);
    free(totals);
    return good ? 0 : -ENOMEM;
}
