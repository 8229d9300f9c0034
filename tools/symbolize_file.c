/* SPDX-License-Identifier: Apache-2.0 */
/* How: libdwfl is told of one module at bias 0, so that all addresses are those in the ELF file, and looks for debug
 * files by its standard means. */
#include "tools/symbolize_file.h"

#include "tools/symbolize_compress.h"
#include "tools/symbolize_eh.h"
#include "tools/symbolize_inflate.h"
#include "tools/symbolize_symtab.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct symbol_file {
    Dwfl_Callbacks callbacks;
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    struct mapped mapped;
    bool by_start; /* a debug file, whose program headers tell addresses but not offsets */
    bool symbols_read, dwarf_read, eh_read;
    bool too_large; /* something was, to be inflated */
    struct symtab symbols;
    struct dwarf_index dwarf; /* .dwarf NULL: none */
    struct eh_table eh;
    Dwarf_Addr bias; /* of the DWARF's addresses to the file's */
};

/* ---- Finding the file ---- */

static bool is_hex(const char *text, const void *bytes, size_t len) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *at = bytes;
    if (strlen(text) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[2 * i] != digits[at[i] >> 4] || text[2 * i + 1] != digits[at[i] & 15])
            return false;
    return true;
}

static const char deleted[] = " (deleted)";

static bool is_deleted(const char *path) {
    size_t len = strlen(path);
    return len > sizeof deleted - 1 && strcmp(path + len - (sizeof deleted - 1), deleted) == 0;
}

/* Whether an open file is the one that was mapped. */
static bool is_same(int fd, const struct mapped *mapped, const char *path, const char **reason) {
    struct stat status;
    const void *id;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        *reason = "not a regular file";
        return false;
    }
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool is_elf = elf && elf_kind(elf) == ELF_K_ELF;
    ssize_t len = is_elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;
    bool same = is_elf;
    if (!is_elf) {
        *reason = "not an ELF file";
    } else if (mapped->build_id[0] != '\0') {
        same = len > 0 && is_hex(mapped->build_id, id, (size_t)len);
        *reason = "another build is there now: its build id is not the profile's";
    } else {
        int64_t changed = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
        same =
            !(is_deleted(mapped->path) && !is_deleted(path)) && (mapped->taken_ns == 0 || changed <= mapped->taken_ns);
        *reason = "has no build id and may have changed since the profile was taken";
    }
    elf_end(elf);
    return same;
}

static int open_same(const char *path, const struct mapped *mapped, const char **reason) {
    /* Not blocking: what is at the path now may be a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        *reason = strerror(errno);
        return -errno;
    }
    if (is_same(fd, mapped, path, reason))
        return fd;
    close(fd);
    return -ESTALE;
}

static int open_vdso(const struct mapped *mapped, const char **reason) {
    const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    GElf_Ehdr header;
    *reason = "it belonged to another kernel";
    if (!image || mapped->build_id[0] == '\0')
        return -ENOENT;
    memcpy(&header, image, sizeof header);
    /* Its section headers, which are at its end, are mapped as well. */
    size_t size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd < 0) {
        *reason = strerror(errno);
        return -errno;
    }
    if (size <= 65536 && write(fd, image, size) == (ssize_t)size && is_same(fd, mapped, "[vdso]", reason))
        return fd;
    close(fd);
    return -ESTALE;
}

#define DEBUG_ROOT "/usr/lib/debug"
#define DEBUG_PATH_MAX 512u

/* Debian and others keep debug files by build id; those have symbols and DWARF even if the program itself is gone. */
static int open_by_build_id(const struct mapped *mapped, char path[DEBUG_PATH_MAX]) {
    const char *unused;
    size_t len = strlen(mapped->build_id);
    if (len < 6 || len > 128 || strspn(mapped->build_id, "0123456789abcdef") != len)
        return -ENOENT;
    snprintf(path, DEBUG_PATH_MAX, DEBUG_ROOT "/.build-id/%.2s/%s.debug", mapped->build_id, mapped->build_id + 2);
    return open_same(path, mapped, &unused);
}

static bool is_vdso(const char *path) {
    return strcmp(path, "[vdso]") == 0 || strncmp(path, "linux-vdso", 10) == 0 || strncmp(path, "linux-gate", 10) == 0;
}

static int open_mapped(struct symbol_file *file, const char **reason) {
    const struct mapped *mapped = &file->mapped;
    const char *path = mapped->path;
    if (is_vdso(path))
        return open_vdso(mapped, reason);
    if (path[0] != '/') {
        *reason = "not a file";
        return -ENOENT;
    }
    int fd = open_same(path, mapped, reason);
    if (fd == -ENOENT && is_deleted(path)) {
        char *before = strndup(path, strlen(path) - (sizeof deleted - 1));
        if (!before)
            return -ENOMEM;
        fd = open_same(before, mapped, reason);
        free(before);
    }
    if (fd < 0 && fd != -ENOMEM && mapped->process > 0 && mapped->build_id[0] != '\0') {
        char exe[32];
        const char *unused;
        snprintf(exe, sizeof exe, "/proc/%d/exe", (int)mapped->process);
        int running = open_same(exe, mapped, &unused);
        fd = running >= 0 ? running : fd;
    }
    if (fd < 0) {
        char by_id_path[DEBUG_PATH_MAX];
        int by_id = open_by_build_id(mapped, by_id_path);
        if (by_id >= 0)
            *reason = NULL;
        file->by_start = by_id >= 0;
        fd = by_id >= 0 ? by_id : fd;
    }
    return fd;
}

/* ---- Opening it ---- */

static size_t parse_build_id(const char *text, unsigned char *id, size_t room) {
    size_t len = 0;
    unsigned byte;
    for (; len < room && sscanf(text + 2 * len, "%2x", &byte) == 1; len++)
        id[len] = (unsigned char)byte;
    return len;
}

/* Has libdwfl ask a debuginfod server for the file: it does so for a module of which nothing but the build id is known.
 */
static Dwfl_Module *report_by_build_id(struct symbol_file *file) {
    unsigned char id[64];
    size_t len = parse_build_id(file->mapped.build_id, id, sizeof id);
    if (len == 0 || !getenv("DEBUGINFOD_URLS") || is_vdso(file->mapped.path))
        return NULL;
    Dwfl_Module *module = dwfl_report_module(file->dwfl, file->mapped.path, 0, UINT64_MAX / 2);
    if (module && dwfl_module_report_build_id(module, id, len, 0) != 0)
        return NULL;
    return module;
}

static bool exists(const char *directory, size_t len, const char *below, const char *name) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%.*s/%s%s", (int)len, directory, below, name);
    return n < 0 || (size_t)n >= sizeof path || access(path, F_OK) == 0;
}

/* Whether there is anything where libdwfl looks for a debug file by name: beside the file, in .debug, and below
 * /usr/lib/debug in the file's directory, with or without its first parts. */
static bool exists_by_name(const char *file_name, const char *name) {
    const char *end = strrchr(file_name, '/');
    size_t len = end ? (size_t)(end - file_name) : 0;
    if (!end || exists(file_name, len, "", name) || exists(file_name, len, ".debug/", name) ||
        exists(DEBUG_ROOT, strlen(DEBUG_ROOT), "", name))
        return true;
    for (const char *at = file_name; at < end; at += 1 + strcspn(at + 1, "/")) {
        char directory[4096];
        int n = snprintf(directory, sizeof directory, DEBUG_ROOT "%.*s", (int)(end - at), at);
        if (n < 0 || (size_t)n >= sizeof directory || exists(directory, (size_t)n, "", name))
            return true;
    }
    return false;
}

/* Without servers to ask, and with nothing to be found, libdwfl loads libcurl and twenty other libraries before it gives
 * up, for each process that ends with a stripped file. */
static bool is_vain(const struct symbol_file *file, const char *file_name, const char *link) {
    const char *servers = getenv("DEBUGINFOD_URLS"), *base = file_name ? strrchr(file_name, '/') : NULL;
    char invented[300];
    if (file->mapped.build_id[0] == '\0' || (servers && servers[0]) || !base || strlen(base) > 255)
        return false;
    snprintf(invented, sizeof invented, "%s.debug", base + 1);
    /* The file itself is where its own name leads. */
    return !exists_by_name(file_name, link ? link : invented) && !exists(DEBUG_ROOT, strlen(DEBUG_ROOT), file_name + 1, "");
}

/* Where libdwfl finds one by the build id it also opens it, and nothing else will do: so that place is looked at first. */
static int find_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                           const char *file_name, const char *link, GElf_Word crc, char **found) {
    const struct symbol_file *file = *userdata;
    char path[DEBUG_PATH_MAX];
    int fd = open_by_build_id(&file->mapped, path);
    int inflated = fd >= 0 ? inflate_debug_file(fd) : -1;
    if (fd >= 0)
        close(fd);
    if (inflated >= 0 && (*found = strdup(path)))
        return inflated;
    if (inflated >= 0)
        close(inflated);
    if (fd < 0 && is_vain(file, file_name, link))
        return -1;
    return dwfl_standard_find_debuginfo(module, userdata, name, base, file_name, link, crc, found);
}

int symbol_file_open(struct symbol_file **opened, const struct mapped *mapped, const char **reason) {
    struct symbol_file *file = calloc(1, sizeof *file);
    GElf_Addr bias;
    if (!file)
        return -ENOMEM;
    *reason = "cannot be read as an ELF file";
    file->mapped = *mapped;
    file->callbacks = (Dwfl_Callbacks){
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = find_debug_file,
    };
    elf_version(EV_CURRENT);
    file->dwfl = dwfl_begin(&file->callbacks);
    int fd = file->dwfl ? open_mapped(file, reason) : -ENOMEM;
    if (file->dwfl) {
        dwfl_report_begin(file->dwfl);
        if (fd >= 0)
            file->module = dwfl_report_elf(file->dwfl, mapped->path, mapped->path, fd, 0, true);
        else if (fd != -ENOMEM)
            file->module = report_by_build_id(file);
        dwfl_report_end(file->dwfl, NULL, NULL);
    }
    if (!file->module && fd >= 0)
        close(fd);
    void **userdata;
    if (file->module && dwfl_module_info(file->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
        *userdata = file;
    file->elf = file->module ? dwfl_module_getelf(file->module, &bias) : NULL;
    if (!file->elf) {
        symbol_file_close(file);
        return fd < 0 ? fd : -EINVAL;
    }
    *opened = file;
    return 0;
}

void symbol_file_close(struct symbol_file *file) {
    if (!file)
        return;
    symtab_release(&file->symbols);
    dwarf_index_release(&file->dwarf);
    if (file->dwfl)
        dwfl_end(file->dwfl);
    free(file);
}

/* ---- Asking it ---- */

/* From an address of the process to one in the ELF file. A mapping is of one segment: if it begins in another one than
 * the address is in, the profile is wrong about it, and no name is better than a wrong one. */
static bool to_vaddr(struct symbol_file *file, uint64_t address, uint64_t *vaddr) {
    const uint64_t page = 4096;
    uint64_t start = file->mapped.start, begin = file->mapped.file_offset, offset = address - start + begin;
    size_t count;
    GElf_Ehdr header;
    GElf_Phdr ph;
    if (elf_getphdrnum(file->elf, &count) != 0 || !gelf_getehdr(file->elf, &header))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(file->elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
            continue;
        if (header.e_type == ET_EXEC)
            *vaddr = address; /* it runs where it was linked to */
        else if (file->by_start)
            *vaddr = address - start + (ph.p_vaddr & ~(page - 1));
        else if (offset >= ph.p_offset && offset - ph.p_offset < ph.p_filesz && begin >= (ph.p_offset & ~(page - 1)))
            *vaddr = offset - ph.p_offset + ph.p_vaddr;
        else
            continue;
        if (*vaddr >= ph.p_vaddr && *vaddr - ph.p_vaddr < ph.p_memsz)
            return true;
    }
    return false;
}

static int read_tables(struct symbol_file *file) {
    if (!file->symbols_read) {
        file->symbols_read = true;
        compress_begin();
        if (symtab_read(&file->symbols, file->module) != 0)
            return -ENOMEM;
    }
    if (!file->dwarf_read) {
        file->dwarf_read = true;
        Dwarf *dwarf = dwfl_module_getdwarf(file->module, &file->bias);
        if (dwarf)
            dwarf_index_init(&file->dwarf, dwarf);
        file->too_large = compress_refused();
    }
    return 0;
}

bool symbol_file_is_too_large(struct symbol_file *file) {
    return file->too_large;
}

size_t symbol_file_units_missing(const struct symbol_file *file) {
    return file->dwarf.missed;
}

bool symbol_file_has_dwarf(struct symbol_file *file) {
    return file->dwarf.dwarf != NULL;
}

static void set_name(struct symbol_frame *frame, const char *name, size_t len) {
    frame->name = name;
    frame->name_len = len;
}

/* What the linker knows better: the whole of a C++ or Rust name of which the DWARF has the last part only, and the name
 * of what has none there, as code written in assembler. */
static void name_from_symbol(struct symbol_frame *outermost, const struct symbol *symbol) {
    bool mangled = symbol->name_len > 2 && symbol->name[0] == '_' && (symbol->name[1] == 'Z' || symbol->name[1] == 'R');
    if (!outermost->where.name || (!outermost->where.linkage && mangled && symbol->start == outermost->where.entry))
        set_name(outermost, symbol->name, symbol->name_len);
    if (outermost->name == symbol->name)
        outermost->where.whole = NULL;
}

int symbol_file_find(struct symbol_file *file, uint64_t address, struct symbol_frame frames[DWARF_FRAMES_MAX]) {
    struct dwarf_frame found[DWARF_FRAMES_MAX];
    uint64_t vaddr;
    int rc = read_tables(file);
    if (rc != 0)
        return rc;
    if (!to_vaddr(file, address, &vaddr))
        return 0;
    int count = file->dwarf.dwarf ? dwarf_index_find(&file->dwarf, vaddr - file->bias, found) : 0;
    if (count < 0)
        return count;
    for (int i = 0; i < count; i++) {
        const char *name = found[i].linkage ? found[i].linkage : found[i].name;
        frames[i] = (struct symbol_frame){.where = found[i]};
        set_name(&frames[i], name, name ? strlen(name) : 0);
    }
    const struct symbol *symbol = symtab_find(&file->symbols, vaddr);
    if (!symbol)
        return count;
    if (count == 0) {
        frames[0] = (struct symbol_frame){0};
        count = 1;
    }
    frames[count - 1].where.entry += file->bias;
    name_from_symbol(&frames[count - 1], symbol);
    return count;
}

bool symbol_file_function_offset(struct symbol_file *file, uint64_t address, uint64_t *offset) {
    uint64_t vaddr, start;
    if (!file->eh_read) {
        file->eh_read = true;
        /* In a debug file that section is empty. */
        if (file->by_start || !eh_table_read(&file->eh, file->elf))
            file->eh = (struct eh_table){0};
    }
    if (!to_vaddr(file, address, &vaddr) || !eh_table_find(&file->eh, vaddr, &start))
        return false;
    /* Within one segment, so the distance is the same in the file. */
    *offset = address - file->mapped.start + file->mapped.file_offset - (vaddr - start);
    return true;
}
