/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: closed file descriptors (program closes all, then opens its own)
 * Report: https://github.com/libunwind/libunwind/issues/291
 * Symptom: the unwinder keeps a pipe open for checking addresses; the program closes it and reuses the number
 * Right: exit 0, stdout "ok". After warm-up every descriptor from 3 to 1023 is closed and 200 are opened again on one
 *     file of the program; 5000 allocations from ever new stacks follow while the program writes and checks the file:
 *     not one byte may be added, taken or moved (file length and offset checked), nothing closed. The profile is still
 *     written at exit, to its own newly opened descriptor.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 10
 * EXPECT func fd_leaf 5010 160320 0 0
 */
#include "tests/corpus/case.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

NOINLINE static void *fd_leaf(void) {
    void *p = malloc(32);
    KEEP(p);
    return p;
}

NOINLINE static void *a(unsigned b, int d);

NOINLINE static void *z(unsigned b, int d) {
    void *p = d ? (b & 1 ? a(b >> 1, d - 1) : z(b >> 1, d - 1)) : fd_leaf();
    KEEP(p);
    return p;
}

NOINLINE static void *a(unsigned b, int d) {
    void *p = d ? (b & 1 ? z(b >> 1, d - 1) : a(b >> 1, d - 1)) : fd_leaf();
    KEEP(p);
    return p;
}

int main(void) {
    char path[] = "/tmp/cprof-fd-XXXXXX";
    for (int i = 0; i < 10; i++)
        free(a(i, 14));
    for (int i = 3; i < 1024; i++)
        close(i);
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    unlink(path);
    for (int i = 0; i < 200; i++)
        if (dup(fd) < 0)
            return 2;
    for (int i = 0; i < 5000; i++) {
        free(a(i * 2654435761u >> 8, 14));
        if (i % 100 == 0 && write(fd, "0123456789", 10) != 10)
            return 3;
        struct stat st;
        if (fstat(fd, &st) || st.st_size != (i / 100 + 1) * 10 || lseek(fd, 0, SEEK_CUR) != st.st_size)
            return 4;
    }
    char buf[512];
    if (pread(fd, buf, 500, 0) != 500)
        return 5;
    for (int i = 0; i < 500; i++)
        if (buf[i] != '0' + i % 10)
            return 6;
    for (int i = 3; i < 203; i++)
        if (fcntl(i, F_GETFD) < 0)
            return 7;
    return say_ok();
}
