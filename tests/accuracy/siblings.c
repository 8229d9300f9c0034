/* SPDX-License-Identifier: Apache-2.0 */
/* siblings WHAT N: N times the same work, 4,096 blocks of 64 bytes one after the other, in processes or threads of their own:
 *
 *     fork     children of this process, by libc
 *     nested   each child the parent of the next one
 *     threads  one after the other */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile block;

__attribute__((noipa)) static void *work(void *unused) {
    for (int i = 0; i < 4096; i++) {
        block = malloc(64);
        free(block);
    }
    return unused;
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[1] : "";
    for (int n = argc > 2 ? atoi(argv[2]) : 0; n > 0; n--) {
        pthread_t thread;
        if (strcmp(what, "threads") == 0) {
            if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
                return 2;
            continue;
        }
        pid_t child = fork();
        if (child == 0) {
            work(NULL);
            if (strcmp(what, "nested") != 0)
                return 0;
            continue;
        }
        if (waitpid(child, NULL, 0) != child)
            return 2;
        if (strcmp(what, "nested") == 0)
            return 0;
    }
    return 0;
}
