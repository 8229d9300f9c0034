/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: fork in a multi-threaded program, while other threads load libraries
 * Symptom: the child inherits the loader's lock in the hands of a thread that does not exist in it, and the tool needs
 *     that lock to write or to unwind
 * Right: exit 0, stdout "ok": two threads open and close a plugin without pause; main forks 100 children, which
 *     allocate from new stacks and end by _exit. None hangs, and each has a profile.
 *
 * BUILD $CC -shared -fPIC -DPLUGIN $SRC -o $BIN.so
 * BUILD $CC -pthread $SRC -o $BIN -DSO="\"$BIN.so\""
 * EXPECT timeout 20
 * EXPECT timing
 * EXPECT profiles 101
 * EXPECT func in_child 64 2048 64 2048
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#ifdef PLUGIN
static void *held;

__attribute__((constructor)) static void begin(void) {
    held = malloc(50);
}

__attribute__((destructor)) static void end(void) {
    free(held);
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

static volatile int stop;

static void *load(void *arg) {
    while (!stop) {
        void *h = dlopen(SO, RTLD_NOW);
        if (!h || dlclose(h))
            return (void *)1;
    }
    return arg;
}

NOINLINE static void *in_child(int depth) {
    void *p = depth ? in_child(depth - 1) : malloc(32);
    KEEP(p);
    return p;
}

int main(void) {
    pthread_t t[2];
    void *result;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, load, NULL);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 64; k++)
                in_child(k);
            _exit(7);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
            return 1;
    }
    stop = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], &result);
        if (result)
            return 2;
    }
    return say_ok();
}
#endif
