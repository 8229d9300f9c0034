/* SPDX-License-Identifier: Apache-2.0 */
/* How: the copy has the same sections under the same numbers; those that are left out occupy nothing. Headers are the
 * file's own but for where sections are, and how large. */
#include "tools/symbolize_inflate.h"

#include "tools/symbolize_compress.h"

#include <gelf.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define WORTH_BYTES 65536u                /* compressed; of fewer libelf makes short work too */
#define DEFLATE_RATIO_MAX UINT64_C(1032)  /* what deflate can't exceed: whoever claims more lies */

struct copy {
    Elf *elf;
    GElf_Ehdr header;
    Elf64_Shdr *sections; /* as they are going to be */
    size_t count;
    size_t names; /* number of the section with the names */
    uint64_t size;
    uint64_t compressed;
    unsigned char *at;
};

static bool is_needed(const char *name) {
    static const char *const needed[] = {"info",     "types", "abbrev",      "aranges", "line",  "line_str", "ranges",
                                         "rnglists", "str",   "str_offsets", "addr"};
    static const char prefix[] = ".debug_";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return true;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (strcmp(name + sizeof prefix - 1, needed[i]) == 0)
            return true;
    return false;
}

/* Takes room for `size` bytes. False if it would be too much: the bound on sections holds for the whole copy. */
static bool take_room(struct copy *copy, uint64_t size, uint64_t align, uint64_t *offset) {
    if (align < 8 || align > 4096)
        align = 8;
    *offset = (copy->size + align - 1) & ~(align - 1);
    if (size > COMPRESS_INFLATED_MAX || *offset > COMPRESS_INFLATED_MAX - size)
        return false;
    copy->size = *offset + size;
    return true;
}

static bool place_section(struct copy *copy, size_t index) {
    Elf_Scn *section = elf_getscn(copy->elf, index);
    GElf_Shdr header;
    GElf_Chdr chdr;
    if (!section || !gelf_getshdr(section, &header))
        return false;
    Elf64_Shdr *to = &copy->sections[index];
    *to = header;
    if (index == 0 || header.sh_type == SHT_NULL || header.sh_type == SHT_NOBITS)
        return true;
    const char *name = elf_strptr(copy->elf, copy->names, header.sh_name);
    if (!name)
        return false;
    if (!is_needed(name)) {
        to->sh_type = SHT_NOBITS;
        to->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
        to->sh_size = 0;
        return true;
    }
    if (header.sh_flags & SHF_COMPRESSED) {
        if (!gelf_getchdr(section, &chdr) || chdr.ch_type != ELFCOMPRESS_ZLIB ||
            chdr.ch_size / DEFLATE_RATIO_MAX > header.sh_size)
            return false;
        copy->compressed += header.sh_size;
        to->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
        to->sh_size = chdr.ch_size;
        to->sh_addralign = chdr.ch_addralign;
    }
    return take_room(copy, to->sh_size, to->sh_addralign, &to->sh_offset);
}

/* Where everything goes. False if there is something that is not understood, or nothing to gain. */
static bool plan(struct copy *copy) {
    uint64_t ignored;
    if (elf_kind(copy->elf) != ELF_K_ELF || gelf_getclass(copy->elf) != ELFCLASS64 ||
        !gelf_getehdr(copy->elf, &copy->header) || copy->header.e_ident[EI_DATA] != ELFDATA2LSB ||
        elf_getshdrnum(copy->elf, &copy->count) != 0 || copy->count < 2 || copy->count >= SHN_LORESERVE ||
        copy->header.e_phnum == PN_XNUM || elf_getshdrstrndx(copy->elf, &copy->names) != 0)
        return false;
    copy->sections = calloc(copy->count, sizeof *copy->sections);
    if (!copy->sections || !take_room(copy, sizeof(Elf64_Ehdr), 8, &ignored) ||
        !take_room(copy, copy->header.e_phnum * sizeof(Elf64_Phdr), 8, &copy->header.e_phoff))
        return false;
    for (size_t i = 0; i < copy->count; i++)
        if (!place_section(copy, i))
            return false;
    return copy->compressed >= WORTH_BYTES &&
           take_room(copy, copy->count * sizeof(Elf64_Shdr), 8, &copy->header.e_shoff);
}

static bool fill_section(struct copy *copy, size_t index, struct libdeflate_decompressor *inflater) {
    Elf_Scn *section = elf_getscn(copy->elf, index);
    const Elf64_Shdr *to = &copy->sections[index];
    GElf_Shdr header;
    if (index == 0 || to->sh_type == SHT_NULL || to->sh_type == SHT_NOBITS)
        return true;
    Elf_Data *data = elf_rawdata(section, NULL);
    if (!gelf_getshdr(section, &header) || !data)
        return false;
    if (header.sh_flags & SHF_COMPRESSED)
        return data->d_size > sizeof(Elf64_Chdr) &&
               libdeflate_zlib_decompress(inflater, (const char *)data->d_buf + sizeof(Elf64_Chdr),
                                          data->d_size - sizeof(Elf64_Chdr), copy->at + to->sh_offset, to->sh_size,
                                          NULL) == LIBDEFLATE_SUCCESS;
    if (data->d_size != to->sh_size)
        return false;
    if (to->sh_size > 0)
        memcpy(copy->at + to->sh_offset, data->d_buf, to->sh_size);
    return true;
}

static bool fill(struct copy *copy) {
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    bool good = inflater != NULL;
    for (size_t i = 0; good && i < copy->count; i++)
        good = fill_section(copy, i, inflater);
    libdeflate_free_decompressor(inflater);
    for (size_t i = 0; good && i < copy->header.e_phnum; i++) {
        GElf_Phdr segment;
        good = gelf_getphdr(copy->elf, (int)i, &segment) != NULL;
        if (good)
            memcpy(copy->at + copy->header.e_phoff + i * sizeof segment, &segment, sizeof segment);
    }
    memcpy(copy->at, &copy->header, sizeof copy->header);
    memcpy(copy->at + copy->header.e_shoff, copy->sections, copy->count * sizeof copy->sections[0]);
    return good;
}

/* A limit on the size of files holds for those in memory too, and its signal would end us. */
static bool may_be_as_large(uint64_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && size <= limit.rlim_cur;
}

static int make(struct copy *copy) {
    if (!plan(copy) || !may_be_as_large(copy->size))
        return -1;
    int fd = memfd_create("debug", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    void *at = ftruncate(fd, (off_t)copy->size) == 0
                   ? mmap(NULL, copy->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0)
                   : MAP_FAILED;
    copy->at = at;
    bool good = at != MAP_FAILED && fill(copy);
    if (at != MAP_FAILED)
        munmap(at, copy->size);
    if (good)
        return fd;
    close(fd);
    return -1;
}

int inflate_debug_file(int fd) {
    struct copy copy = {.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)};
    int made = copy.elf ? make(&copy) : -1;
    free(copy.sections);
    elf_end(copy.elf);
    return made;
}
