/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: empty profile (zero samples)
 * Report: https://github.com/google/pprof/pull/76
 * Symptom: a profile without samples comes out as an empty file; pprof then says "unrecognized profile format"
 * Right: exit 0, stdout "ok". The program allocates nothing. The file is a valid gzip with a valid profile: sample
 *     types, period, string_table[0] == "", time and duration, no samples of the program. The program has no libc
 *     start-up either.
 *
 * BUILD $CC -nostartfiles $SRC -o $BIN
 * EXPECT timeout 5
 * EXPECT profiles 1
 */
#include "tests/corpus/case.h"

#include <stdlib.h>
#include <unistd.h>

void begin(void) {
    (void)!write(1, "ok\n", 3);
    exit(0);
}

__asm__(".globl _start\n_start:\nxor %ebp,%ebp\nand $-16,%rsp\ncall begin\nhlt\n");
