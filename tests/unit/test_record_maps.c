/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up addresses in /proc/thread-self/maps, against the kernel's own text of it and against files mapped for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/record/maps.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static struct maps_buffer buffer;
static struct maps_entry entry;
static char directory[] = "/tmp/cprof-maps.XXXXXX";

/* Every line that the kernel prints, looked up by its first and its last byte. */
static void test_all_lines(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    char line[4600];
    int lines = 0, wrong = 0;
    struct {
        unsigned long start, limit, offset;
        char protection[5], path[4200];
    } *all = calloc(20000, sizeof *all), *l;
    while (file && lines < 20000 && fgets(line, sizeof line, file)) {
        l = &all[lines];
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4199[^\n]", &l->start, &l->limit, l->protection, &l->offset,
                   l->path) >= 4)
            lines++;
    }
    if (file)
        fclose(file);
    for (l = all; l < all + lines; l++) {
        const char *path = l->path[0] == '/' ? l->path : "";
        char *deleted = strstr(l->path, " (deleted)");
        if (deleted)
            *deleted = 0;
        for (int last = 0; last < 2; last++) {
            /* The list itself moves the heap; what is not there any more is no error. */
            if (!maps_find(last ? l->limit - 1 : l->start, &entry, &buffer)) {
                wrong += path[0] != 0;
                continue;
            }
            if (path[0] && (entry.start != l->start || entry.limit != l->limit || entry.offset != l->offset ||
                            entry.readable != (l->protection[0] == 'r') ||
                            entry.executable != (l->protection[2] == 'x') || strcmp(buffer.path, path) != 0)) {
                printf("# %lx-%lx %s\n", l->start, l->limit, l->path);
                wrong++;
            }
        }
    }
    free(all);
    ok(lines > 10, "%d mappings", lines);
    is(wrong, 0, "each is found by its first and its last byte, as the kernel says");
}

static char *map_named(const char *name, size_t pages) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)(pages * 4096)) < 0)
        return NULL;
    char *at = mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

static void path_is(const char *at, const char *name, const char *what) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int found = at && maps_find((uintptr_t)at, &entry, &buffer);
    is_text(found ? buffer.path : "(not found)", path, what);
    unlink(path);
}

static void test_names(void) {
    static const char *const names[] = {"plain",    "with blanks  and more", "new\nline", "back\\slash", "\\012",
                                        "(deleted", "x (deleted) y"};
    for (size_t i = 0; i < sizeof names / sizeof *names - 1; i++)
        if (strcmp(names[i], "\\012") != 0) /* the kernel does not tell it from a newline */
            path_is(map_named(names[i], 1), names[i], "a name as it is");
    char long_name[256];
    memset(long_name, 'n', 255);
    long_name[255] = 0;
    path_is(map_named(long_name, 1), long_name, "the longest name");
    char *gone = map_named("gone", 1), path[4096];
    snprintf(path, sizeof path, "%s/gone", directory);
    unlink(path);
    ok(gone && maps_find((uintptr_t)gone, &entry, &buffer), "a file that was deleted");
    is_text(buffer.path, path, "keeps its name, without the kernel's remark");
}

static void test_runs(void) {
    /* As a loaded library: parts with other rights, and zeroed data between and behind them. */
    char *at = map_named("run", 6), path[4096];
    snprintf(path, sizeof path, "%s/run", directory);
    mprotect(at + 4096, 4096, PROT_READ | PROT_EXEC);
    mprotect(at + 3 * 4096, 4096, PROT_READ | PROT_WRITE);
    is(maps_find((uintptr_t)at + 4096, &entry, &buffer), 1, "the executable part of a file");
    ok(entry.executable && entry.start == (uintptr_t)at + 4096 && entry.limit == (uintptr_t)at + 8192 &&
           entry.offset == 4096,
       "is found by itself");
    ok(entry.file_start == (uintptr_t)at && entry.file_limit == (uintptr_t)at + 6 * 4096,
       "with the whole of the file around it");
    is(maps_find((uintptr_t)at, &entry, &buffer), 1, "its first part");
    ok(entry.file_start == (uintptr_t)at && entry.file_limit == (uintptr_t)at + 6 * 4096, "is of the same whole");
    unlink(path);
    char *anonymous = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(anonymous + 4096, 4096, PROT_NONE);
    ok(maps_find((uintptr_t)anonymous, &entry, &buffer) && !buffer.path[0] && entry.readable && !entry.executable,
       "anonymous memory has no file");
    ok(maps_find((uintptr_t)anonymous + 4096, &entry, &buffer) && !entry.readable, "nor that which can't be read");
    munmap(anonymous, 8192);
    is(maps_find((uintptr_t)anonymous, &entry, &buffer), 0, "what is unmapped is not found");
    is(maps_find(0, &entry, &buffer), 0, "nor is address 0");
    is(maps_find(1ul << 47, &entry, &buffer), 0, "nor the first address that can't be");
}

static void test_failures(void) {
    test_fail_syscall(SYS_openat, EMFILE, 0, TEST_ALWAYS);
    is(maps_find((uintptr_t)&buffer, &entry, &buffer), 0, "no descriptor, no answer");
    is_text(buffer.path, "", "and no name");
    for (unsigned n = 0; n < 3; n++) {
        test_fail_syscall(SYS_read, EIO, n, TEST_ALWAYS);
        maps_find(UINTPTR_MAX, &entry, &buffer);
    }
    test_fail_syscall(0, 0, 0, 0);
    int fd = dup(0);
    is(maps_find((uintptr_t)&buffer, &entry, &buffer), 1, "after errors of reading it works on");
    int next = dup(0);
    is(next, fd + 1, "and leaves no descriptor open");
    close(next);
    close(fd);
}

int main(void) {
    if (!mkdtemp(directory))
        return 1;
    test_all_lines();
    test_names();
    test_runs();
    test_failures();
    rmdir(directory);
    return tap_done();
}
