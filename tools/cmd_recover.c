/* SPDX-License-Identifier: Apache-2.0 */
/* cprof recover: the profiles of processes that were killed. */
#include "tools/recover.h"
#include "tools/segments.h"
#include "tools/tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_KEEP = TOOL_LONG, OPTION_DISCARD, OPTION_NO_SYMBOLIZE };

static const struct tool_option options[] = {
    {'a', "all", NULL, "all processes of this user that are dead"},
    {'o', "output", "OUT",
     "write to OUT, which may be a directory; - is standard output. Otherwise where the process was "
     "going to write, if nothing was written there since it began"},
    {OPTION_KEEP, "keep", NULL, "leave what the profile was made of, so that it can be made again"},
    {OPTION_DISCARD, "discard", NULL, "make no profile, only take away what is left"},
    {OPTION_NO_SYMBOLIZE, "no-symbolize", NULL, "leave addresses"},
    {0},
};

struct recovery {
    struct recover_options how;
    bool all;
    uint32_t pid; /* of --all: 0 */
    unsigned found;
    int code;
};

static void print_name(void *ctx, const struct segment_file *file, const char *name) {
    (void)ctx;
    (void)file;
    if (strcmp(name, "standard output") != 0)
        printf("%s\n", name);
}

static int refuse(const char *what, const struct segment_file *file) {
    if (file->life == SEGMENT_ALIVE)
        tool_error(what, "the process is alive; see `cprof dump %d`", (int)file->process);
    else
        tool_error(what, "still in use by a process that can't be seen from here");
    return EXIT_PROCESS;
}

static int each(void *ctx, const char *path) {
    struct recovery *recovery = ctx;
    struct segment_file file;
    const char *reason;
    int rc = segment_open(&file, path, geteuid(), &reason);
    if (rc == -ENOENT)
        return 0;
    if (rc != 0) {
        if (recovery->all) {
            tool_error(path, "%s", reason);
            recovery->code = exit_worse(recovery->code, EXIT_INPUT);
        }
        return 0;
    }
    if (recovery->all ? file.life == SEGMENT_DEAD : file.pid == recovery->pid) {
        recovery->found++;
        int code = file.life == SEGMENT_DEAD ? recover_segment(&file, &recovery->how) : refuse(path, &file);
        recovery->code = exit_worse(recovery->code, code);
    }
    segment_close(&file);
    return 0;
}

static int recover_each(struct recovery *recovery) {
    char directory[SEGMENT_PATH_MAX];
    int rc = segments_each(geteuid(), each, recovery);
    if (rc == 0)
        return recovery->code;
    segment_directory(geteuid(), directory);
    tool_error(directory, "%s", rc == -EPERM ? "belongs to another user or is open to others" : strerror(-rc));
    return EXIT_INPUT;
}

/* True if it lies where the library puts them; one from elsewhere may name any file as its output. */
static bool is_at_home(const char *path) {
    char directory[SEGMENT_PATH_MAX];
    segment_directory(geteuid(), directory);
    char *real = realpath(path, NULL);
    size_t len = strlen(directory);
    bool inside = real && strncmp(real, directory, len) == 0 && real[len] == '/' && !strchr(real + len + 1, '/');
    free(real);
    return inside;
}

static int recover_file(const struct recovery *recovery, const char *path) {
    struct segment_file file;
    const char *reason;
    int rc = segment_open(&file, path, geteuid(), &reason);
    if (rc != 0) {
        tool_error(path, "%s", reason);
        return rc == -EPERM ? EXIT_PROCESS : EXIT_INPUT;
    }
    int code;
    if (file.life != SEGMENT_DEAD) {
        code = refuse(path, &file);
    } else if (!is_at_home(path) && !recovery->how.output && !recovery->how.discard) {
        tool_error(path, "is not where the library puts it; say with -o where the profile goes");
        code = EXIT_USAGE;
    } else if (file.unfinished && !recovery->how.discard) {
        tool_error(path, "the process was killed before anything was recorded; --discard takes this away");
        code = EXIT_INPUT;
    } else {
        code = recover_segment(&file, &recovery->how);
    }
    segment_close(&file);
    return code;
}

static int recover_argument(struct recovery *recovery, const char *argument) {
    char *end;
    errno = 0;
    unsigned long pid = strtoul(argument, &end, 10);
    if (errno != 0 || end == argument || *end != '\0' || pid == 0 || pid > INT32_MAX)
        return recover_file(recovery, argument);
    recovery->pid = (uint32_t)pid;
    recovery->found = 0;
    recovery->code = EXIT_OK;
    int code = recover_each(recovery);
    if (recovery->found > 0 || code != EXIT_OK)
        return code;
    tool_error(argument, "nothing is left of such a process");
    return EXIT_PROCESS;
}

static int run(int argc, char **argv) {
    struct recovery recovery = {.how = {.symbolize = true, .placed = print_name}};
    int option, code;
    while ((option = tool_next_option(&command_recover, argc, argv, &code)) > 0) {
        recovery.all |= option == 'a';
        recovery.how.keep |= option == OPTION_KEEP;
        recovery.how.discard |= option == OPTION_DISCARD;
        recovery.how.symbolize &= option != OPTION_NO_SYMBOLIZE;
        if (option == 'o')
            recovery.how.output = optarg;
    }
    if (option < 0)
        return code;
    if (recovery.all == (optind < argc)) {
        tool_error("recover", optind < argc ? "either --all or processes" : "no process is given");
        return tool_usage("recover");
    }
    if (recovery.how.keep && recovery.how.discard) {
        tool_error("recover", "either --keep or --discard");
        return tool_usage("recover");
    }
    if (recovery.all)
        return recover_each(&recovery);
    for (int i = optind; i < argc; i++)
        code = exit_worse(code, recover_argument(&recovery, argv[i]));
    return code;
}

const struct tool_command command_recover = {
    .name = "recover",
    .summary = "make the profiles of processes that were killed",
    .usage = "[OPTION]... --all | PID|FILE...",
    .operand = "PID",
    .about = "Make the profile of a process that is dead from what it left in shared memory, print the profile's name, "
             "and take away what was left. It holds all that had been recorded when the process ended.",
    .options = options,
    .notes =
        "A file that was written since the process began is never replaced; the profile's name then gets a number. "
        "A profile that the process wrote itself is not made again. FILE is such a rest (/dev/shm/cprof-UID/...), "
        "or a copy of one, which needs -o. What belongs to other users is left alone.",
    .exits =
        "0 done, 2 usage, 3 what is left can't be read, 4 a profile can't be written, 5 no memory, 6 the process is "
        "alive, nothing is left of it, or it belongs to another user.",
    .examples = (const char *const[]){"cprof recover 4711", "cprof recover --all -o profiles", NULL},
    .run = run,
};
