/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF file says about whether and how well it can be profiled. */
#ifndef CPROF_TOOLS_EXPLAIN_ELF_H
#define CPROF_TOOLS_EXPLAIN_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define ELF_NEEDED_MAX 256u

struct elf_facts {
    bool is_elf;
    bool is_native;             /* 64-bit x86 */
    bool is_program;            /* an executable, or a position-independent one */
    const char *kind;           /* for people: what it is if not native; static */
    char interpreter[PATH_MAX]; /* the loader; "" if it is linked statically */
    bool unwind_table;          /* .eh_frame_hdr, without which the entries of .eh_frame are not found */
    unsigned unwind_percent;    /* how much of its code they are for (explain_unwind.h) */
    bool has_symbols;           /* .symtab */
    bool has_lines;             /* .debug_info */
    char build_id[129];         /* hexadecimal */
    char debug_link[NAME_MAX + 1];
    bool malloc_exported; /* it defines malloc, and others' calls come to it */
    bool malloc_hidden;   /* it defines malloc for itself */
    bool malloc_imported; /* it calls the malloc of another object */
    bool sanitized; /* the runtime of a sanitizer is part of it */
    bool is_go;
    char needed[ELF_NEEDED_MAX][64]; /* libraries that it is linked with; longer names are left out */
    size_t needed_count;
};

/* Returns 0, also for a file that is not ELF, or a negative errno. */
int elf_facts_read(struct elf_facts *facts, const char *path);

/* The first library it is linked with whose name begins so; NULL if there is none. */
const char *elf_facts_needs(const struct elf_facts *facts, const char *prefix);

/* Finds the separate debug file of a program, as debuggers do. */
bool elf_facts_debug_file(const struct elf_facts *facts, const char *path, char found[PATH_MAX]);

#endif
