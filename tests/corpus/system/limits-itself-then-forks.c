/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: a program that limits its address space, and forks
 * Symptom: a child that is not to be profiled gives back what the tool had reserved, part of which is the program's by now
 * Right: exit 0, stdout "ok": what the program mapped after it had set the limit is there in the child as well.
 *
 * ENV CPROF_FORK=off
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MAPPED 64
#define SIZE ((size_t)4 << 20)

int main(void) {
    static char *mapped[MAPPED];
    struct rlimit limit = {(rlim_t)2 << 30, (rlim_t)2 << 30};
    int status = 0;
    void *p = malloc(100);
    KEEP(p);
    free(p);
    if (setrlimit(RLIMIT_AS, &limit))
        return 1;
    for (int i = 0; i < MAPPED; i++) {
        mapped[i] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped[i] == MAP_FAILED)
            return 2;
        memset(mapped[i], i, 4096);
    }
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < MAPPED; i++)
            if (mapped[i][100] != i || !(p = malloc(100)))
                _exit(3);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return 4;
    return say_ok();
}
