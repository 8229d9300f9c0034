/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: start-up (the state of dlerror)
 * Symptom: a preloaded library looks for symbols that are not there, and the program finds the error text
 * Right: exit 0, stdout "ok": dlerror() is NULL at the start of main, in a new thread and after allocations; a text of
 *     the program's own is there until asked for.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT func between 300 3000 0 0
 */
#include "tests/corpus/case.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

NOINLINE static void *between(void) {
    void *p = malloc(10);
    KEEP(p);
    return p;
}

static void *run(void *arg) {
    if (dlerror())
        return (void *)1;
    for (int i = 0; i < 100; i++)
        free(between());
    if (dlerror())
        return (void *)2;
    dlsym(RTLD_DEFAULT, "of_the_program_and_not_there");
    for (int i = 0; i < 50; i++)
        free(between());
    const char *text = dlerror();
    return text && strstr(text, "of_the_program") ? arg : (void *)3;
}

int main(void) {
    pthread_t t;
    void *result = run(NULL);
    if (result)
        return (int)(long)result;
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, &result);
    return result ? 10 + (int)(long)result : say_ok();
}
