/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/explain_elf.h"

#include "tools/explain_unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_headers(struct elf_facts *facts, Elf *elf, int fd) {
    size_t count = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header))
            continue;
        facts->unwind_table |= header.p_type == PT_GNU_EH_FRAME;
        if (header.p_type == PT_INTERP) {
            size_t len = header.p_filesz < sizeof facts->interpreter ? header.p_filesz : sizeof facts->interpreter - 1;
            ssize_t n = pread(fd, facts->interpreter, len, (off_t)header.p_offset);
            facts->interpreter[n > 0 ? n : 0] = '\0';
        }
    }
}

/* Those that allocate by themselves. */
static bool is_sanitizers(const char *name) {
    static const char *const entries[] = {"__asan_init", "__tsan_init", "__msan_init", "__lsan_init", "__hwasan_init"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(name, entries[i]) == 0)
            return true;
    return false;
}

static void read_symbols(struct elf_facts *facts, Elf_Data *data, const GElf_Shdr *section, Elf *elf) {
    size_t count = section->sh_entsize > 0 ? section->sh_size / section->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) == STT_OBJECT)
            continue;
        const char *name = elf_strptr(elf, section->sh_link, symbol.st_name);
        if (!name)
            continue;
        bool dynamic = section->sh_type == SHT_DYNSYM, defined = symbol.st_shndx != SHN_UNDEF;
        if (strcmp(name, "malloc") == 0) {
            facts->malloc_exported |= dynamic && defined;
            facts->malloc_imported |= dynamic && !defined;
            facts->malloc_hidden |= !dynamic && defined;
        }
        facts->sanitized |= defined && is_sanitizers(name);
    }
}

static void read_needed(struct elf_facts *facts, Elf_Data *data, const GElf_Shdr *section, Elf *elf) {
    size_t count = section->sh_entsize > 0 ? section->sh_size / section->sh_entsize : 0;
    for (size_t i = 0; i < count && facts->needed_count < ELF_NEEDED_MAX; i++) {
        GElf_Dyn entry;
        if (!gelf_getdyn(data, (int)i, &entry) || entry.d_tag != DT_NEEDED)
            continue;
        const char *name = elf_strptr(elf, section->sh_link, entry.d_un.d_val);
        if (name && strlen(name) < sizeof facts->needed[0])
            strcpy(facts->needed[facts->needed_count++], name);
    }
}

static void read_notes(struct elf_facts *facts, Elf_Data *data) {
    GElf_Nhdr note;
    size_t name, content;
    for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &content)) > 0;) {
        const unsigned char *bytes = (const unsigned char *)data->d_buf + content;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
            strcmp((const char *)data->d_buf + name, "GNU") != 0)
            continue;
        for (size_t i = 0; i < note.n_descsz && i < 64; i++)
            snprintf(facts->build_id + 2 * i, 3, "%02x", bytes[i]);
    }
}

static void read_section(struct elf_facts *facts, Elf *elf, Elf_Scn *scn, const char *name, const GElf_Shdr *section) {
    Elf_Data *data = section->sh_type == SHT_NOBITS ? NULL : elf_getdata(scn, NULL);
    facts->is_go |= strcmp(name, ".go.buildinfo") == 0;
    if (!data || !data->d_buf)
        return;
    facts->has_symbols |= section->sh_type == SHT_SYMTAB;
    facts->has_lines |= strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0;
    if (section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM)
        read_symbols(facts, data, section, elf);
    else if (section->sh_type == SHT_DYNAMIC)
        read_needed(facts, data, section, elf);
    else if (section->sh_type == SHT_NOTE)
        read_notes(facts, data);
    else if (strcmp(name, ".gnu_debuglink") == 0)
        snprintf(facts->debug_link, sizeof facts->debug_link, "%.*s", (int)strnlen(data->d_buf, data->d_size),
                 (const char *)data->d_buf);
}

static void read_elf(struct elf_facts *facts, Elf *elf, int fd) {
    GElf_Ehdr header;
    size_t names;
    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
        return;
    facts->is_elf = true;
    facts->is_program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
    facts->is_native = gelf_getclass(elf) == ELFCLASS64 && header.e_machine == EM_X86_64;
    if (!facts->is_native)
        facts->kind = header.e_machine == EM_386      ? "a 32-bit x86 program"
                      : header.e_machine == EM_X86_64 ? "an x32 program"
                                                      : "of another architecture";
    read_headers(facts, elf, fd);
    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr section;
        const char *name = gelf_getshdr(scn, &section) ? elf_strptr(elf, names, section.sh_name) : NULL;
        if (name)
            read_section(facts, elf, scn, name, &section);
    }
    if (facts->unwind_table && facts->is_native)
        facts->unwind_percent = explain_unwind_percent(elf);
}

int elf_facts_read(struct elf_facts *facts, const char *path) {
    memset(facts, 0, sizeof *facts);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf)
        read_elf(facts, elf, fd);
    elf_end(elf);
    close(fd);
    return 0;
}

const char *elf_facts_needs(const struct elf_facts *facts, const char *prefix) {
    for (size_t i = 0; i < facts->needed_count; i++)
        if (strncmp(facts->needed[i], prefix, strlen(prefix)) == 0)
            return facts->needed[i];
    return NULL;
}

bool elf_facts_debug_file(const struct elf_facts *facts, const char *path, char found[PATH_MAX]) {
    if (strlen(facts->build_id) > 2) {
        snprintf(found, PATH_MAX, "/usr/lib/debug/.build-id/%.2s/%s.debug", facts->build_id, facts->build_id + 2);
        if (access(found, R_OK) == 0)
            return true;
    }
    if (facts->debug_link[0] == '\0')
        return false;
    static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s"};
    const char *end = strrchr(path, '/');
    int len = end ? (int)(end - path) : 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (snprintf(found, PATH_MAX, forms[i], len, path, facts->debug_link) < PATH_MAX && access(found, R_OK) == 0)
            return true;
    }
    return snprintf(found, PATH_MAX, "/usr/lib/debug%.*s/%s", len, path, facts->debug_link) < PATH_MAX &&
           access(found, R_OK) == 0;
}
