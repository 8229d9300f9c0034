/* SPDX-License-Identifier: Apache-2.0 */
/* cprof recover: the profiles of processes that were killed. */
#include "tools/recover.h"
#include "tools/save.h"
#include "tools/segments.h"
#include "tools/tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPTION_KEEP = TOOL_LONG, OPTION_DISCARD, OPTION_NO_SYMBOLIZE };

static const struct tool_option options[] = {
    {'a', "all", NULL, "all processes of this user that are dead"},
    {'o', "output", "OUT",
     "write to OUT, which may be a directory; - is standard output, for one profile alone. A file OUT is replaced; of "
     "several profiles those after the first get a number. Without this it is written where the process was going to "
     "write, if nothing was written there since it began"},
    {OPTION_KEEP, "keep", NULL, "leave what the profile was made of, so that it can be made again"},
    {OPTION_DISCARD, "discard", NULL, "make no profile, only take away what is left"},
    {OPTION_NO_SYMBOLIZE, "no-symbolize", NULL, "leave addresses"},
    {0},
};

struct recovery {
    struct recover_options how;
    bool all;
    bool stream;  /* what was written to `how.output` can't be kept apart */
    uint32_t pid; /* of --all: 0 */
    unsigned found;
    unsigned placed;   /* profiles that were made */
    unsigned expected; /* profiles that are to be made, as count_one() finds them */
    int code;
};

static void print_name(void *ctx, const struct segment_file *file, const char *name) {
    struct recovery *recovery = ctx;
    (void)file;
    recovery->placed++;
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

static int recover_one(struct recovery *recovery, struct segment_file *file) {
    /* That there would be more than one was refused before, but more processes may have died since. */
    if (recovery->stream && recovery->placed > 0 && recover_profiles(file) > 0) {
        tool_error(file->path, "left as it is: another profile went to %s already", recovery->how.output);
        return EXIT_OUTPUT;
    }
    int code = recover_segment(file, &recovery->how);
    recovery->how.numbered = recovery->placed > 0;
    return code;
}

static bool is_meant(const struct recovery *recovery, const struct segment_file *file) {
    return recovery->all ? file->life == SEGMENT_DEAD : file->pid == recovery->pid;
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
    if (is_meant(recovery, &file)) {
        recovery->found++;
        int code = file.life == SEGMENT_DEAD ? recover_one(recovery, &file) : refuse(path, &file);
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

static int recover_file(struct recovery *recovery, const char *path) {
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
    } else if (recovery->how.output && save_replaces(recovery->how.output, path)) {
        code = EXIT_USAGE;
    } else if (file.unfinished && !recovery->how.discard) {
        tool_error(path, "the process was killed before anything was recorded; --discard takes this away");
        code = EXIT_INPUT;
    } else {
        code = recover_one(recovery, &file);
    }
    segment_close(&file);
    return code;
}

/* The number of a process, or 0: then it is a file. */
static uint32_t parse_pid(const char *argument) {
    char *end;
    errno = 0;
    unsigned long pid = strtoul(argument, &end, 10);
    return errno != 0 || end == argument || *end != '\0' || pid > INT32_MAX ? 0 : (uint32_t)pid;
}

static int recover_argument(struct recovery *recovery, const char *argument) {
    recovery->pid = parse_pid(argument);
    if (recovery->pid == 0)
        return recover_file(recovery, argument);
    recovery->found = 0;
    recovery->code = EXIT_OK;
    int code = recover_each(recovery);
    if (recovery->found > 0 || code != EXIT_OK)
        return code;
    tool_error(argument, "nothing is left of such a process");
    return EXIT_PROCESS;
}

/* ---- Several profiles ---- */

static bool is_stream(const char *output) {
    struct stat st;
    return output &&
           (strcmp(output, "-") == 0 || (stat(output, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)));
}

static int count_one(void *ctx, const char *path) {
    struct recovery *recovery = ctx;
    struct segment_file file;
    const char *reason;
    if (segment_open(&file, path, geteuid(), &reason) != 0)
        return 0;
    bool meant = (!recovery->all && recovery->pid == 0) || is_meant(recovery, &file);
    unsigned profiles = meant && file.life == SEGMENT_DEAD ? recover_profiles(&file) : 0;
    /* The peak's profile can be made later of what is kept. */
    recovery->expected += recovery->how.keep && profiles > 0 ? 1 : profiles;
    segment_close(&file);
    return 0;
}

/* False, after a message, if more than one profile would go to a stream. */
static bool check_stream(struct recovery *recovery, int count, char **arguments) {
    for (int i = 0; i < count || (i == 0 && recovery->all); i++) {
        recovery->pid = recovery->all ? 0 : parse_pid(arguments[i]);
        if (recovery->all || recovery->pid > 0)
            segments_each(geteuid(), count_one, recovery);
        else
            count_one(recovery, arguments[i]);
    }
    if (recovery->expected > 1)
        tool_error(recovery->how.output, "takes one profile, and there are %u; name a directory or a file with -o",
                   recovery->expected);
    return recovery->expected <= 1;
}

static int run(int argc, char **argv) {
    struct recovery recovery = {.how = {.symbolize = true, .placed = print_name}};
    recovery.how.ctx = &recovery;
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
    recovery.stream = !recovery.how.discard && is_stream(recovery.how.output);
    if (recovery.stream && !check_stream(&recovery, argc - optind, argv + optind))
        return EXIT_USAGE;
    recovery.pid = 0;
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
