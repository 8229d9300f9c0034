/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: the processor's state (traps on floating-point exceptions, rounding, direction)
 * Symptom: the tool computes with floating point while the program has unmasked its exceptions: SIGFPE; or leaves
 *     rounding or registers changed
 * Right: exit 0, stdout "ok": with all floating-point exceptions trapping and rounding upward the program allocates,
 *     starts a thread, forks and exits; its own results and modes are what they were.
 *
 * BUILD $CC -pthread $SRC -o $BIN -lm
 * EXPECT profiles 2
 * EXPECT func among_numbers 20000 40000000 0 0
 */
#include "tests/corpus/case.h"

#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

NOINLINE static void *among_numbers(void) {
    void *p = malloc(2000);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    feenableexcept(FE_ALL_EXCEPT);
    fesetround(FE_UPWARD);
    for (int i = 0; i < 10000; i++) {
        register double kept __asm__("xmm7") = 0;
        free(among_numbers());
        (void)kept;
        if (fegetround() != FE_UPWARD || fegetexcept() != FE_ALL_EXCEPT || fetestexcept(FE_ALL_EXCEPT))
            return (void *)1;
    }
    return arg;
}

int main(void) {
    pthread_t t;
    void *result;
    int status;
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, &result);
    if (result || run(NULL))
        return 1;
    pid_t child = fork();
    if (child == 0)
        exit(run(NULL) ? 1 : 0);
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        return 2;
    return say_ok();
}
