/* SPDX-License-Identifier: Apache-2.0 */
/* One mapped file and all that is known of its addresses.
 *
 * Role:    finds the file that was mapped, makes sure that it is that very build, and answers for addresses in it.
 * Sources: the file at its path; failing that, the executable of a living process, which outlasts its deletion, and, by
 * its build id, what is in /usr/lib/debug/.build-id or a debuginfod server has (if DEBUGINFOD_URLS names one). Its
 * DWARF is in the file or in a separate one, found by build id, by .gnu_debuglink or from debuginfod. The vdso is that
 * of this process.
 * Trust:   a file is believed if its build id is the mapping's. Of a mapping without one, a file that was changed
 *          since the profile was taken, or deleted and replaced, is not believed.
 */
#ifndef CPROF_TOOLS_SYMBOLIZE_FILE_H
#define CPROF_TOOLS_SYMBOLIZE_FILE_H

#include "tools/symbolize_dwarf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a profile says of a mapping. */
struct mapped {
    const char *path;     /* "... (deleted)" is understood; in brackets: no file */
    const char *build_id; /* hexadecimal, or "" */
    uint64_t start;       /* of the executable segment */
    uint64_t file_offset;
    int64_t taken_ns; /* when the profile was complete, since 1970; 0: not known */
    pid_t process;    /* that has it mapped, perhaps as its executable; 0: none that is known */
};

struct symbol_frame {
    const char *name; /* as the linker knows it, or else as in the source; not terminated */
    size_t name_len;  /* 0: no name is known, the line is */
    struct dwarf_frame where;
};

struct symbol_file;

/* Opens it. Returns 0 and *file, or a negative errno: -ENOMEM, or that there is no such file that can be believed, and
 * `reason` says why (for people; static or of errno). */
int symbol_file_open(struct symbol_file **file, const struct mapped *mapped, const char **reason);

/* Fills `frames` with what is at an address of the process, the innermost function first, and returns their number.
 * They live until symbol_file_close(). 0: nothing is known. -ENOMEM. */
int symbol_file_find(struct symbol_file *file, uint64_t address, struct symbol_frame frames[DWARF_FRAMES_MAX]);

/* Offset in the file of the function that the address is in, found without symbols, from what unwinders need. False if
 * that does not tell. */
bool symbol_file_function_offset(struct symbol_file *file, uint64_t address, uint64_t *offset);

/* Whether it has DWARF, so that nobody could tell more than symbol_file_find() does. */
bool symbol_file_has_dwarf(struct symbol_file *file);

/* Whether symbol_file_find() left out some of its sections, or of its debug file's: they would be too large in memory. */
bool symbol_file_is_too_large(struct symbol_file *file);

/* Units of its DWARF that symbol_file_find() was asked for, and whose functions can't be read. */
size_t symbol_file_units_missing(const struct symbol_file *file);

/* NULL is fine. */
void symbol_file_close(struct symbol_file *file);

#endif
