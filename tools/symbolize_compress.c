/* SPDX-License-Identifier: Apache-2.0 */
/* How: libdw inflates through libelf's two functions of these names, which are found here first. They are the only
 * place that all files come by: the program's own, debug files however found, and those that debug files share. */
#include "tools/symbolize_compress.h"

#include <dlfcn.h>
#include <gelf.h>
#include <stdint.h>
#include <string.h>

static uint64_t inflated; /* since compress_begin() */
static bool refused;

void compress_begin(void) {
    inflated = 0;
    refused = false;
}

bool compress_refused(void) {
    return refused;
}

static bool is_bearable(uint64_t size) {
    if (size > COMPRESS_INFLATED_MAX - inflated) {
        refused = true;
        return false;
    }
    inflated += size;
    return true;
}

int elf_compress(Elf_Scn *section, int type, unsigned flags) {
    int (*next)(Elf_Scn *, int, unsigned) = (int (*)(Elf_Scn *, int, unsigned))dlsym(RTLD_NEXT, "elf_compress");
    GElf_Chdr header;
    if (!next || (type == 0 && gelf_getchdr(section, &header) && !is_bearable(header.ch_size)))
        return -1;
    return next(section, type, flags);
}

/* The older form, in sections called .zdebug_*: "ZLIB" and the size, most significant byte first. */
int elf_compress_gnu(Elf_Scn *section, int inflate, unsigned flags) {
    int (*next)(Elf_Scn *, int, unsigned) = (int (*)(Elf_Scn *, int, unsigned))dlsym(RTLD_NEXT, "elf_compress_gnu");
    Elf_Data *data = inflate ? NULL : elf_rawdata(section, NULL);
    uint64_t size;
    if (data && data->d_size >= 4 + sizeof size && memcmp(data->d_buf, "ZLIB", 4) == 0) {
        memcpy(&size, (const char *)data->d_buf + 4, sizeof size);
        if (!is_bearable(__builtin_bswap64(size)))
            return -1;
    }
    return next ? next(section, inflate, flags) : -1;
}
