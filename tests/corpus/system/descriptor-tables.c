/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: closed file descriptors (close_range with a table of its own)
 * Symptom: descriptors that the tool keeps are closed under it by close_range, and their numbers go to the program
 * Right: exit 0, stdout "ok": a thread closes everything above 2 in a table of its own (CLOSE_RANGE_UNSHARE), another
 *     in the common one; both go on allocating, and files that the program opens afterwards hold what it wrote.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT func after_close_range 4000 160000 0 0
 */
#include "tests/corpus/case.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

NOINLINE static void *after_close_range(int depth) {
    void *p = depth ? after_close_range(depth - 1) : malloc(40);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    unsigned flags = arg ? CLOSE_RANGE_UNSHARE : 0;
    char name[] = "file-0";
    name[5] += (char)flags;
    if (syscall(SYS_close_range, 3, ~0u, flags))
        return (void *)77;
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return (void *)1;
    for (int i = 0; i < 2000; i++) {
        struct stat st;
        free(after_close_range(i % 100));
        if (write(fd, "x", 1) != 1 || fstat(fd, &st) || st.st_size != i + 1)
            return (void *)2;
    }
    return NULL;
}

int main(void) {
    void *result;
    for (long i = 1; i >= 0; i--) {
        pthread_t t;
        pthread_create(&t, NULL, run, (void *)i);
        pthread_join(t, &result);
        if (result)
            _exit((int)(long)result);
    }
    return say_ok();
}
