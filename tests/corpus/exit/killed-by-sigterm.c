/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: exit paths (SIGTERM, default action)
 * Report: https://github.com/gperftools/gperftools/issues/1475
 * Symptom: a server stopped by a signal leaves an empty (zero-byte) profile
 * Right: status 143 (killed by SIGTERM: the wait status must stay "signalled", whatever the profiler does first),
 *     stdout "ok". SIGTERM, SIGINT and SIGHUP are at their default disposition as the program sees it (sigaction
 *     reports SIG_DFL). Profile: absent or whole, never zero bytes.
 *
 * EXPECT exit 143
 * EXPECT timeout 5
 */
#include "tests/corpus/case.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    const int sig[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct sigaction a;
        if (sigaction(sig[i], NULL, &a) || a.sa_handler != SIG_DFL)
            return 20 + i;
    }
    for (int i = 0; i < 100; i++) {
        void *p = malloc(64);
        KEEP(p);
    }
    if (write(1, "ok\n", 3) != 3)
        return 1;
    kill(getpid(), SIGTERM);
    for (;;)
        pause();
}
