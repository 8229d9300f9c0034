/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: closed file descriptors (none left: RLIMIT_NOFILE reached)
 * Report: https://github.com/jemalloc/jemalloc/issues/1630
 * Symptom: from some moment on no further profile can be created in a running server: creat(...) failed
 * Right: exit 5, stdout "ok", at once. The program holds every descriptor it may have (limit 24) when it exits, so
 *     neither /proc nor the output can be opened. No hang, no crash, and no descriptor of the program is closed.
 *
 * EXPECT exit 5
 * EXPECT timeout 5
 */
#include "tests/corpus/case.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void check(void) {
    for (int i = 3; i < 24; i++)
        if (fcntl(i, F_GETFD) < 0)
            _exit(9);
    (void)!write(1, "ok\n", 3);
}

int main(void) {
    struct rlimit l = {24, 24};
    if (setrlimit(RLIMIT_NOFILE, &l))
        return 1;
    atexit(check);
    while (open("/dev/null", O_RDWR) >= 0) {
    }
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
    return 5;
}
