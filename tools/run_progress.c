/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/run_progress.h"

#include "tools/segment_totals.h"

#include <stdio.h>

#define CLEAR_LINE "\r\033[K"

void run_progress(pid_t pid) {
    struct segment_file file;
    struct segment_totals totals;
    const char *reason;
    if (segment_open_process(&file, pid, &reason) != 0)
        return;
    if (!file.unfinished && segment_sum(&file, &totals) == 0) {
        char name[64], allocated[SIZE_TEXT_MAX], in_use[SIZE_TEXT_MAX];
        fprintf(stderr, CLEAR_LINE "cprof: %s %d: %s allocated, %s%s in use", segment_name(&file, name), (int)pid,
                size_text(totals.alloc_bytes, allocated), file.view.header.rate > 1 ? "about " : "",
                size_estimate_text(totals.inuse_bytes, totals.inuse_error, in_use));
        fflush(stderr);
    }
    segment_close(&file);
}

void run_progress_end(void) {
    fputs(CLEAR_LINE, stderr);
    fflush(stderr);
}
