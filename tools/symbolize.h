/* SPDX-License-Identifier: Apache-2.0 */
/* Names, files and lines for the addresses of a profile in memory.
 *
 * Role:    behind `cprof symbolize`, and in front of everything that prints names. After it the profile can be read
 *          where the programs that it is of are not at hand.
 * Adds:    Lines, Functions and texts. Location.line: functions that were inlined come first, the innermost first.
 *          Function.name is for people (demangle.h), system_name as the linker knows it, filename and line as the
 *          compiler wrote them down, filename being where the line is.
 * Keeps:   everything else. Mappings flagged as having functions, files or lines are left alone; so are lines that say
 *          more than what is found now. Doing it again changes nothing.
 * Flags:   of a mapping that has DWARF, has_functions, has_filenames, has_line_numbers and has_inline_frames, as far as
 *          it gave them; nobody needs to look again. With names from symbol tables alone they stay unset: pprof, or
 *          a later run with debug files at hand, may do better.
 * Unnamed: a function of a readable file whose name was stripped is called [FILE+0xOFFSET], by where in the file it
 *          begins, so that it is told from others. An address in no file is in code made while the program ran: [jit].
 *          A location in a file that can't be read stays without a line; pprof calls it by the file, [FILE].
 */
#ifndef CPROF_TOOLS_SYMBOLIZE_H
#define CPROF_TOOLS_SYMBOLIZE_H

#include "tools/demangle.h"

#include "proto/profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct symbolize_result {
    bool changed;     /* the profile is not what it was */
    bool out_of_time; /* something was left out */
};

struct symbolize_options {
    enum demangle_style style;
    bool restyle;         /* also names that are there, as far as the profile knows the linker's names for them */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; what is not done by then is left out. 0: none */
    pid_t process;        /* whose executable it may be, also if its file is gone; 0: none */
    /* Told of each file that gave no "names", or no "lines" because of its size, if not NULL. */
    void (*note)(void *ctx, const char *what, const char *path, const char *reason);
    /* Called between files, if not NULL: the profile is valid then. The next file has so many bytes. */
    void (*checkpoint)(void *ctx, const struct symbolize_result *so_far, uint64_t next_size);
    void *ctx;
};

/* `profile` is one of load_profile(). Returns 0, also if nothing was found, or -ENOMEM: then the profile is valid and
 * part of it may have been done. */
int symbolize_profile(ProfProfile *profile, const struct symbolize_options *options, struct symbolize_result *result);

#endif
