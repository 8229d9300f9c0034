/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (_exit in one thread while another is in exit)
 * Symptom: both write, to one name, or one waits for the other, which is gone
 * Right: exit 0 or 3, stdout "ok": a thread calls _exit at some moment of main's exit. Never a hang, never a part of a
 *     file, never without a profile.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT exit 0|3
 * EXPECT timing
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <pthread.h>
#include <stdlib.h>

static void *leave(void *arg) {
    usleep((unsigned)(long)arg);
    _exit(3);
}

NOINLINE static void *nest(unsigned bits, int depth) {
    void *p = depth ? nest(bits >> 1, depth - 1) : malloc(16 + bits);
    KEEP(p);
    return p;
}

int main(void) {
    pthread_t t;
    for (unsigned i = 0; i < 20000; i++)
        nest(i << 8, 8);
    say_ok();
    pthread_create(&t, NULL, leave, (void *)(long)(getpid() * 37 % 3000));
    exit(0);
}
