/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: signal handlers (SIGSEGV as a write barrier, as garbage collectors use it)
 * Symptom: the tool reads or writes memory that the program has protected, and the program's handler sees faults that
 *     are not its own
 * Right: exit 0, stdout "ok": 200 pages from memalign are protected; each write faults once, and the handler, which
 *     allocates a record, unprotects the page. No other address faults.
 *
 * EXPECT func barrier_record 2000 48000 2000 48000
 */
#include "tests/corpus/case.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGES 200
static char *heap;
static int faults, foreign;
static void *records[10 * PAGES];

NOINLINE static void *barrier_record(void) {
    void *p = malloc(24);
    KEEP(p);
    return p;
}

static void on_fault(int number, siginfo_t *info, void *context) {
    char *at = info->si_addr;
    (void)context;
    if (at < heap || at >= heap + PAGES * 4096) {
        foreign++;
        signal(number, SIG_DFL);
        return;
    }
    records[faults++] = barrier_record();
    mprotect((void *)((size_t)at & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    heap = memalign(4096, PAGES * 4096);
    if (!heap)
        return 1;
    sigaction(SIGSEGV, &action, NULL);
    for (int round = 0; round < 10; round++) {
        mprotect(heap, PAGES * 4096, PROT_READ);
        for (int i = 0; i < PAGES; i++) {
            heap[i * 4096 + round] = 'w';
            heap[i * 4096 + round + 100] = 'w';
        }
    }
    free(heap);
    return faults == 10 * PAGES && !foreign ? say_ok() : 2;
}
