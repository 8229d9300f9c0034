/* SPDX-License-Identifier: Apache-2.0 */
/* cprof dump: the profile of a living process, as of now. */
#include "tools/segment_profile.h"
#include "tools/segments.h"
#include "tools/tool.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPTION_NO_SYMBOLIZE = TOOL_LONG, OPTION_PEAK };

static const struct tool_option options[] = {
    {'o', "output", "OUT",
     "write to OUT; - is standard output. Otherwise to cprof.NAME.PID.N.pb.gz in this directory, N "
     "being the first number that is free"},
    {OPTION_PEAK, "peak", NULL, "what was in use when most was, instead of now; for processes with CPROF_PEAK=1"},
    {OPTION_NO_SYMBOLIZE, "no-symbolize", NULL, "leave addresses, which is quicker"},
    {0},
};

static bool parse_pid(const char *text, pid_t *pid) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value <= 0 || value > INT_MAX)
        return false;
    *pid = (pid_t)value;
    return true;
}

/* The name without its number, which is put in when the file is placed. */
static char *default_name(const struct segment_file *file) {
    char *name;
    char base[64];
    memcpy(base, file->view.header.name, sizeof base);
    base[sizeof base - 1] = '\0';
    for (char *at = base; *at; at++)
        if (*at == '/' || (unsigned char)*at < ' ')
            *at = '_';
    for (unsigned n = 1; n < 10000; n++) {
        struct stat st;
        if (asprintf(&name, "cprof.%s.%d.%u.pb.gz", base, (int)file->process, n) < 0)
            return NULL;
        if (lstat(name, &st) != 0)
            return name;
        free(name);
    }
    return NULL;
}

static int dump(const struct segment_file *file, const char *output, struct segment_output *how) {
    char *name = output ? strdup(output) : default_name(file), *placed;
    if (!name) {
        tool_error("dump", "out of memory, or of names");
        return EXIT_SYSTEM;
    }
    if (how->peak && file->view.used[SEGMENT_PEAK] == 0) {
        tool_error(file->path, "no peak is kept; start the process with CPROF_PEAK=1");
        free(name);
        return EXIT_INPUT;
    }
    if (file->view.header.private_memory)
        tool_error(file->path, "incomplete: /dev/shm is full, part of the records is in the process alone");
    how->placing = output ? SEGMENT_REPLACE : SEGMENT_BESIDE;
    int code = segment_write_profile(file, how, name, &placed);
    if (code == EXIT_OK && strcmp(name, "-") != 0)
        printf("%s\n", placed);
    free(placed);
    free(name);
    return code;
}

static int run(int argc, char **argv) {
    struct segment_output how = {.symbolize = true, .now_mono_ns = segment_now()};
    struct segment_file file;
    const char *output = NULL, *reason;
    int option, code;
    pid_t pid;
    while ((option = tool_next_option(&command_dump, argc, argv, &code)) > 0) {
        if (option == 'o')
            output = optarg;
        how.symbolize &= option != OPTION_NO_SYMBOLIZE;
        how.peak |= option == OPTION_PEAK;
    }
    if (option < 0)
        return code;
    if (optind + 1 != argc) {
        tool_error("dump", optind == argc ? "no process is given" : "one process at a time");
        return tool_usage("dump");
    }
    if (!parse_pid(argv[optind], &pid)) {
        tool_error(argv[optind], "not the number of a process");
        return tool_usage("dump");
    }
    int rc = segment_open_process(&file, pid, &reason);
    if (rc != 0) {
        tool_error(argv[optind], "%s", reason);
        return rc == -ENOENT || rc == -ESRCH || rc == -EPERM ? EXIT_PROCESS : EXIT_INPUT;
    }
    code = dump(&file, output, &how);
    segment_close(&file);
    return code;
}

const struct tool_command command_dump = {
    .name = "dump",
    .summary = "write the profile of a living process",
    .usage = "[OPTION]... PID",
    .operand = "PID",
    .about =
        "Write the profile of a process as of now, and print its name. The process is neither stopped nor told, so "
        "it may as well hang, spin or be stopped; its records are read where it keeps them in shared memory.",
    .options = options,
    .exits = "0 done, 2 usage, 3 its records can't be read, 4 the profile can't be written, 5 no memory, 6 there is no "
             "such process, or it is not profiled.",
    .examples = (const char *const[]){"cprof dump 4711", "cprof dump -o now.pb.gz 4711", NULL},
    .run = run,
};
