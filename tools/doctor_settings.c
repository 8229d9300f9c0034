/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/doctor_settings.h"

#include "tools/run_output.h"
#include "tools/tool.h"

#include "preload/intercept/limits.h"
#include "preload/intercept/only.h"
#include "preload/record/name.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- Whether anything would come of it ---- */

static bool is_rate_zero(void) {
    const char *rate = getenv("CPROF_RATE");
    uint64_t bytes;
    return rate && tool_parse_bytes(rate, &bytes) && bytes == 0;
}

/* What the library will take for the program's name; NULL if that can't be told, or if it is not this one that counts.
 */
static const char *name_of(const struct explanation *program, char path[PATH_MAX]) {
    const char *found = program->path;
    if (!program->elf.is_elf)
        return NULL;
    if (program->script_count > 0) {
        if (explain_is_env(program) || !realpath(program->program, path))
            return NULL;
        found = path;
    }
    const char *slash = strrchr(found, '/');
    return slash ? slash + 1 : found;
}

bool doctor_settings_obstacle(const struct explanation *program, char reason[EXPLAIN_REASON_MAX]) {
    const char *only = getenv("CPROF_ONLY");
    char path[PATH_MAX];
    const char *name = program ? name_of(program, path) : NULL;
    if (is_rate_zero()) {
        snprintf(reason, EXPLAIN_REASON_MAX, "with CPROF_RATE=%.20s nothing is recorded", getenv("CPROF_RATE"));
        return true;
    }
    if (name && only && !only_wants(only, name)) {
        snprintf(reason, EXPLAIN_REASON_MAX, "CPROF_ONLY=%.100s does not match its name, %.100s", only, name);
        return true;
    }
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < LIMITS_LEAST) {
        snprintf(reason, EXPLAIN_REASON_MAX, "a program must have %lu KiB of address space left, and ulimit -v is %lu",
                 LIMITS_LEAST >> 10, (unsigned long)space.rlim_cur >> 10);
        return true;
    }
    const char *given = getenv("CPROF_OUT");
    const char *template = given && given[0] && strlen(given) < PATH_MAX ? given : NAME_USUAL;
    int fault = run_output_fault(template, path);
    if (fault != 0)
        snprintf(reason, EXPLAIN_REASON_MAX, "no profile can be written as CPROF_OUT=%.120s: %s", template,
                 strerror(fault));
    return fault != 0;
}

/* ---- What the library says ---- */

/* This environment with the library preloaded, and, behind all others so that it is read last and nothing is recorded
 * or written, a rate of 0. */
static char **environment_of_child(char *preload) {
    static char rate[] = "CPROF_RATE=0";
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = malloc((count + 3) * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
            copy[kept++] = environ[i];
    if (copy) {
        copy[kept++] = preload;
        copy[kept++] = rate;
        copy[kept] = NULL;
    }
    return copy;
}

static pid_t start_true(char **environment, int errors) {
    static char name[] = "true";
    char *const argv[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    bool good = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
                posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO) == 0 &&
                posix_spawnp(&pid, name, &actions, NULL, argv, environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return good ? pid : -1;
}

/* "cprof[PID]: " in front is left out. */
static void hand_over(int fd, void (*each)(const char *line)) {
    FILE *lines = fdopen(fd, "r");
    char *line = NULL;
    size_t room = 0;
    for (ssize_t len; lines && (len = getline(&line, &room, lines)) > 0;) {
        const char *text = line;
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "cprof[", 6) == 0 && strstr(line, "]: "))
            text = strstr(line, "]: ") + 3;
        each(text);
    }
    free(line);
    if (lines)
        fclose(lines);
    else
        close(fd);
}

void doctor_settings_complaints(const char *library, void (*each)(const char *line)) {
    char *preload;
    int ends[2];
    if (asprintf(&preload, "LD_PRELOAD=%s", library) < 0)
        return;
    char **environment = environment_of_child(preload);
    if (environment && pipe2(ends, O_CLOEXEC) == 0) {
        pid_t pid = start_true(environment, ends[1]);
        close(ends[1]);
        hand_over(ends[0], each);
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    free(environment);
    free(preload);
}
