/* SPDX-License-Identifier: Apache-2.0 */
/* cprof doctor: what stands in the way of profiling a program here. */
#include "tools/doctor.h"

#include "preload/record/name.h"
#include "tools/doctor_settings.h"
#include "tools/explain.h"
#include "tools/explain_preload.h"
#include "tools/segments.h"
#include "tools/symbolize_dwarf.h"
#include "tools/tool.h"

#include "preload/record/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TMPFS 0x01021994

extern char **environ;

static void say(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const char *what, const char *format, ...) {
    va_list args;
    printf("  %-14s ", what);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* ---- The program ---- */

/* The first one that it is linked with; NULL if there is none. */
static const char *linked_allocator(const struct elf_facts *elf) {
    for (size_t i = 0; i < elf->needed_count; i++)
        if (explain_is_allocator(elf->needed[i]))
            return elf->needed[i];
    return NULL;
}

static void tell_before(const char *preloaded) {
    say("allocator", "%s, which LD_PRELOAD has before libcprof.so: what it serves is NOT seen", preloaded);
}

static void tell_allocator(const struct elf_facts *elf) {
    char preloaded[PATH_MAX];
    const char *linked = linked_allocator(elf);
    enum preload_place place = explain_preload(preloaded);
    if (elf->malloc_exported)
        say("allocator", "it defines malloc itself and lets others use it: what that serves is NOT seen");
    else if (elf->malloc_hidden)
        say("allocator", "it defines malloc for itself: its own calls are NOT seen, those of its libraries are");
    else if (place == PRELOAD_BEFORE)
        tell_before(preloaded);
    else if (place == PRELOAD_BEHIND)
        say("allocator", "%s, which is preloaded; its blocks are seen as any others", preloaded);
    else if (linked)
        say("allocator", "%s; its blocks are seen as any others", linked);
    else if (elf->malloc_imported || elf->needed_count > 1)
        say("allocator", "that of the C library");
    else
        say("allocator", "it calls no malloc by itself; what its libraries allocate is seen");
    if (elf->is_go)
        say("language", "Go: its own heap is NOT seen, what it allocates by C is");
}

/* Why inlined functions will be missing though there is debug information; NULL: they won't. */
static const char *split_away(const char *debug, const char *path, char text[DWARF_MISSING_MAX]) {
    int fd = open(debug, O_RDONLY | O_CLOEXEC);
    Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
    size_t count = dwarf ? dwarf_bodies_missing(dwarf) : 0;
    dwarf_end(dwarf);
    if (fd >= 0)
        close(fd);
    return count > 0 ? dwarf_explain_missing(count, path, text) : NULL;
}

static void tell_names(const struct elf_facts *elf, const char *path) {
    char debug[PATH_MAX];
    bool separate = elf_facts_debug_file(elf, path, debug);
    char missing[DWARF_MISSING_MAX];
    const char *split = elf->has_lines ? split_away(path, path, missing)
                        : separate     ? split_away(debug, path, missing)
                                       : NULL;
    if (split)
        say("names", "functions and lines, no inlined functions (%s)", split);
    else if (elf->has_lines)
        say("names", "functions, lines and inlined functions (it has debug information)");
    else if (separate)
        say("names", "functions, lines and inlined functions, from %s", debug);
    else if (elf->has_symbols)
        say("names", "functions, no lines (it has symbols but no debug information)");
    else
        say("names", "only exported functions; the others are called by their place (it is stripped%s)",
            elf->build_id[0] ? ", and its debug file was not found in /usr/lib/debug" : ", and has no build id");
}

static void tell_unwinding(const struct elf_facts *elf) {
    static const char rest[] = "frame pointers are tried, and where there are none stacks end, as [truncated]";
    if (elf->unwind_percent == 100)
        say("stacks", "whole (it has unwind tables)");
    else if (elf->unwind_percent > 0)
        say("stacks", "whole in %u %% of its code, for which it has unwind tables; in the rest %s", elf->unwind_percent,
            rest);
    else
        say("stacks", "NOT whole (its code has no unwind tables): %s", rest);
}

static void tell_program(const struct explanation *e) {
    for (unsigned i = 0; i < e->script_count; i++)
        say("script", "run by %s", i + 1 < e->script_count ? e->scripts[i + 1] : e->program);
    if (explain_is_env(e))
        say("script", "env starts the interpreter, which has a profile of its own");
    if (e->verdict != EXPLAIN_FINE)
        return;
    if (!e->elf.is_elf) {
        say("format", "neither ELF nor a script with #!: a shell reads it, or what the kernel knows for it");
        return;
    }
    say("loader", "%s", e->elf.interpreter);
    tell_allocator(&e->elf);
    tell_unwinding(&e->elf);
    tell_names(&e->elf, e->program);
}

/* ---- The surroundings ---- */

/* Without it programs are profiled all the same, but nobody sees it from outside. */
static void tell_shared_memory(void) {
    char parent[] = SEGMENT_FILE_DIRECTORY, own[SEGMENT_PATH_MAX];
    struct statfs fs;
    struct stat st;
    *strrchr(parent, '/') = '\0';
    segment_directory(geteuid(), own);
    if (statfs(parent, &fs) != 0) {
        say("shared memory", "%s: %s: ls, dump, top and recover will see NOTHING", parent, strerror(errno));
        return;
    }
    unsigned long long room = (unsigned long long)fs.f_bavail * (unsigned long long)fs.f_bsize;
    if (lstat(own, &st) == 0 && (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0))
        say("shared memory", "%s is not a directory of this user alone: ls, dump, top and recover will see NOTHING",
            own);
    else if (lstat(own, &st) != 0 && access(parent, W_OK | X_OK) != 0)
        say("shared memory", "%s can't be written to: ls, dump, top and recover will see NOTHING", parent);
    else if (room < 16ull << 20)
        say("shared memory", "%s has only %llu MiB left: ls, dump, top and recover may not see all", parent,
            room >> 20);
    else
        say("shared memory", "%s, %llu MiB free%s", own, room >> 20,
            fs.f_type == TMPFS ? "" : "; not a tmpfs, so it may be slow");
}

static void tell_kernel(void) {
    struct utsname uts;
    unsigned major = 0, minor = 0;
    if (uname(&uts) != 0)
        return;
    sscanf(uts.release, "%u.%u", &major, &minor);
    bool old = major < 5 || (major == 5 && minor < 14);
    say("kernel", "%s%s", uts.release, old ? ": before 5.14 nothing can be seen from outside" : "");
}

static void tell_complaint(const char *line) {
    say("complaint", "%s", line);
}

static void tell_settings(void) {
    static const char *const main_ones[][2] = {{"CPROF_RATE", "524288"}, {"CPROF_OUT", NAME_USUAL}};
    for (size_t i = 0; i < sizeof main_ones / sizeof main_ones[0]; i++)
        if (!getenv(main_ones[i][0]))
            say("setting", "%s=%s (not set)", main_ones[i][0], main_ones[i][1]);
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "CPROF_", 6) == 0 || strncmp(*variable, "LD_PRELOAD=", 11) == 0)
            say("setting", "%s", *variable);
}

/* ---- The verdict ---- */

/* The first line, which has the first obstacle that there is. */
static bool tell_verdict(const char *name, const struct explanation *e, const char *library, const char *trouble) {
    char reason[EXPLAIN_REASON_MAX];
    const char *shown = !e ? "here" : e->path[0] && e->verdict != EXPLAIN_MISSING ? e->path : name;
    if (e && e->verdict != EXPLAIN_FINE)
        printf("%s: %s: %s\n", shown, e->verdict == EXPLAIN_UNSEEN ? "can't be profiled" : "can't be run", e->reason);
    else if (trouble)
        printf("%s: %s: %s: %s\n", shown, e ? "can't be profiled" : "nothing can be profiled", library, trouble);
    else if (doctor_settings_obstacle(e, reason))
        printf("%s: not with these settings: %s\n", shown, reason);
    else {
        printf("%s:%s\n", shown, e ? " can be profiled" : "");
        return true;
    }
    return false;
}

int doctor_examine(const char *program) {
    char library[PATH_MAX], trouble[EXPLAIN_REASON_MAX];
    struct explanation *e = program ? malloc(sizeof *e) : NULL;
    if (program && !e) {
        tool_error(program, "out of memory");
        return EXIT_FAULT;
    }
    if (e)
        explain_program(e, program);
    bool usable = explain_library(library, trouble);
    bool fine = tell_verdict(program, e, library, usable ? NULL : trouble);
    char preloaded[PATH_MAX];
    if (e)
        tell_program(e);
    else if (explain_preload(preloaded) == PRELOAD_BEFORE)
        tell_before(preloaded);
    say("library", usable ? "%s" : "%s: NOT usable: %s", library, trouble);
    tell_shared_memory();
    tell_kernel();
    tell_settings();
    if (usable)
        doctor_settings_complaints(library, tell_complaint);
    free(e);
    return fine ? EXIT_OK : EXIT_FAULT;
}

static int run(int argc, char **argv) {
    int code, option = tool_next_option(&command_doctor, argc, argv, &code);
    if (option < 0)
        return code;
    if (argc - optind > 1) {
        tool_error("doctor", "one program at a time");
        return tool_usage("doctor");
    }
    return doctor_examine(argv[optind]);
}

const struct tool_command command_doctor = {
    .name = "doctor",
    .summary = "say whether a program can be profiled, and what will not be seen",
    .usage = "[PROGRAM]",
    .operand = "PROGRAM",
    .about = "Say whether a program can be profiled here, and what will not be seen of it: whether the library can get "
             "into it, whose malloc it uses, whether stacks can be followed and functions named, and whether other "
             "commands will see it while it runs; and whether the settings in the environment are understood, and "
             "leave something to be had. Of the program nothing is executed.",
    .exits = "0 it can be profiled, 1 it can't, or not with these settings, 2 usage.",
    .examples = (const char *const[]){"cprof doctor redis-server", NULL},
    .options_first = true,
    .run = run,
};
