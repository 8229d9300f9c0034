/* SPDX-License-Identifier: Apache-2.0 */
/* What settings take, in words: for the lines of the library, and of `cprof run` whose options are the same settings.
 */
#ifndef CPROF_INTERCEPT_ACCEPTS_H
#define CPROF_INTERCEPT_ACCEPTS_H

#define ACCEPTS_RATE "bytes between samples: 0, 1, 524288, 512K, up to 1T"
#define ACCEPTS_OUT "a file name of 1 to 4095 bytes"
#define ACCEPTS_DEPTH "1 to 1024"
#define ACCEPTS_INTERVAL "a time such as 300ms, 30s, 5m, 1h, or 0 for none"
#define ACCEPTS_ONLY "patterns of 1 to 4095 bytes"

#endif
