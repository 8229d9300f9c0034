/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: symbols (a program that exports functions named as those of the tool's dependencies)
 * Symptom: the tool's calls of deflate, crc32, protobuf-c or libunwind are answered by the program (node and java
 *     export such)
 * Right: exit 0, stdout "ok": the program exports functions of these names that abort; none is called, and the profile
 *     is whole.
 *
 * BUILD $CC $SRC -o $BIN -Wl,--export-dynamic
 * EXPECT func exporting 100 2100 100 2100
 */
#include "tests/corpus/case.h"

#include <stdlib.h>

#define TRAP(name)                                                                                                     \
    void name(void);                                                                                                   \
    void name(void) {                                                                                                  \
        abort();                                                                                                       \
    }
TRAP(deflate)
TRAP(deflateInit_)
TRAP(deflateInit2_)
TRAP(deflateEnd)
TRAP(deflateReset)
TRAP(inflate)
TRAP(crc32)
TRAP(crc32_z)
TRAP(compress2)
TRAP(protobuf_c_message_pack)
TRAP(protobuf_c_message_get_packed_size)
TRAP(protobuf_c_message_init_generic)
TRAP(unw_step)
TRAP(unw_init_remote)
TRAP(unw_get_reg)
TRAP(unw_create_addr_space)
TRAP(unw_set_caching_policy)
TRAP(_Ux86_64_step)
TRAP(_Ux86_64_init_remote)
TRAP(_Ux86_64_create_addr_space)
TRAP(log_line)
TRAP(record_block)
TRAP(walk_stack)
TRAP(segment_create)
TRAP(config_read)

static void *held[100];

NOINLINE static void *exporting(void) {
    void *p = malloc(21);
    KEEP(p);
    return p;
}

int main(void) {
    for (int i = 0; i < 100; i++)
        held[i] = exporting();
    return say_ok();
}
