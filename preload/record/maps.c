/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/maps.h"

#include <fcntl.h>

#include "preload/record/sys.h"
#include "preload/record/text.h"

static int next_char(struct maps_buffer *in) {
    if (in->at == in->len) {
        long n = sys_read(in->fd, in->chunk, sizeof in->chunk);
        if (n <= 0)
            return -1;
        in->at = 0;
        in->len = (size_t)n;
    }
    return (unsigned char)in->chunk[in->at++];
}

static int hex(struct maps_buffer *in, uint64_t *n) {
    int c;
    *n = 0;
    for (;;) {
        c = next_char(in);
        if (c >= '0' && c <= '9')
            *n = *n << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *n = *n << 4 | (uint64_t)(c - 'a' + 10);
        else
            return c;
    }
}

/* The rest of the line behind the offset: device, inode, blanks, path. The kernel writes a newline in a name as \012. */
static int rest(struct maps_buffer *in, struct text *path) {
    int c = 0, field = 0;
    while (field < 2 && (c = next_char(in)) >= 0 && c != '\n')
        field += c == ' ';
    while (c >= 0 && c != '\n' && (c = next_char(in)) == ' ')
        ;
    while (c >= 0 && c != '\n') {
        char byte = (char)c;
        text_add_bytes(path, &byte, 1);
        if (path->len >= 4 && path->at[path->len - 4] == '\\' && text_equal(path->at + path->len - 3, "012")) {
            path->len -= 4;
            text_add(path, "\n");
        }
        c = next_char(in);
    }
    return c;
}

static int parse(struct maps_buffer *in, uintptr_t address, struct maps_entry *e) {
    struct maps_entry line = {0};
    struct text name;
    char *run = in->run;
    int found = 0;
    uintptr_t run_start = 0, run_limit = 0;
    run[0] = 0;
    for (;;) {
        uint64_t start, limit, offset;
        if (hex(in, &start) != '-' || hex(in, &limit) != ' ')
            break;
        line.start = start;
        line.limit = limit;
        line.readable = next_char(in) == 'r';
        next_char(in);
        line.executable = next_char(in) == 'x';
        next_char(in);
        next_char(in);
        if (hex(in, &offset) != ' ')
            break;
        line.offset = offset;
        text_init(&name, in->path, sizeof in->path);
        int c = rest(in, &name);
        /* A loaded file is a run of mappings; anonymous ones (its zeroed data) may stand in between. */
        if (name.len && !(text_equal(run, name.at) && offset)) {
            if (found)
                break;
            struct text copy;
            text_init(&copy, run, sizeof in->run);
            text_add(&copy, name.at);
            run_start = start;
        }
        if (name.len)
            run_limit = limit;
        if (address >= start && address < limit) {
            found = 1;
            *e = line;
            if (!name.len)
                run[0] = 0;
        }
        if (found) {
            e->file_start = run_start;
            e->file_limit = run_limit;
        }
        if (c < 0 || (found && !run[0]) || (!found && start > address))
            break;
    }
    text_init(&name, in->path, sizeof in->path);
    text_add(&name, found ? run : "");
    return found;
}

int maps_find(uintptr_t address, struct maps_entry *entry, struct maps_buffer *in) {
    static const char deleted[] = " (deleted)";
    const size_t cut = sizeof deleted - 1;
    in->path[0] = 0;
    in->at = in->len = 0;
    in->fd = (int)sys_open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (in->fd < 0)
        return 0;
    int found = parse(in, address, entry);
    sys_close(in->fd);
    size_t len = text_length(in->path);
    if (len > cut && text_equal(in->path + len - cut, deleted))
        in->path[len - cut] = 0;
    if (in->path[0] != '/')
        in->path[0] = 0;
    return found;
}
