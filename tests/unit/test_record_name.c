/* SPDX-License-Identifier: Apache-2.0 */
/* Names of profiles: what templates become, and which files may be replaced. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/record/name.h"
#include "preload/record/segment.h"
#include "preload/record/segment_file.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static char name[NAME_ROOM];

static const char *made(const char *template, enum output_kind kind, uint32_t number) {
    name_init(template, "/usr/bin/program");
    return name_make(kind, number, name, sizeof name) == 0 ? name : "(too long)";
}

static void test_templates(void) {
    segment.header->pid = 4321;
    segment.header->start_wall_ns = 1700000000999999999u;
    is_text(made("/d/cprof.%e.%p.pb.gz", OUTPUT_END, 1), "/d/cprof.program.4321.pb.gz", "executable and pid");
    is_text(made("/d/%t-%n%%", OUTPUT_END, 7), "/d/1700000000-7%", "time, number, percent sign");
    is_text(made("/d/%x%", OUTPUT_END, 1), "/d/%x%", "what is none of ours stays");
    is_text(name_unknown("/d/%e%%x%x%y"), "%x%y", "which is told");
    ok(!name_unknown("%e%p%n%h%t%%") && name_unknown("%"), "of all that a %% may have behind it, or not");
    is_text(made("/d/%%p", OUTPUT_END, 1), "/d/%p", "a percent sign before a letter");
    char host[256], want[300];
    gethostname(host, sizeof host);
    snprintf(want, sizeof want, "/%.64s", host);
    is_text(made("/%h", OUTPUT_END, 1), want, "host");
    char here[4096], both[4200];
    is_text(made("x.pb.gz", OUTPUT_END, 1),
            getcwd(here, sizeof here) && snprintf(both, sizeof both, "%s/x.pb.gz", here) > 0 ? both : "",
            "relative to where the program started");
    name_init("x.pb.gz", "/usr/bin/program");
    if (chdir("/") == 0) {
        name_make(OUTPUT_END, 1, name, sizeof name);
        is_text(name, both, "also when it has gone elsewhere");
    }
}

static void test_telling_apart(void) {
    is_text(made("/d/a.pb.gz", OUTPUT_DUMP, 3), "/d/a.3.pb.gz", "dumps are numbered, before the suffix");
    is_text(made("/d/a.gz", OUTPUT_DUMP, 3), "/d/a.gz.3", "or at the end");
    is_text(made("/d/%n.pb.gz", OUTPUT_DUMP, 3), "/d/3.pb.gz", "but not twice");
    is_text(made("/d/a.pb.gz", OUTPUT_PEAK, 3), "/d/a.peak.pb.gz", "the peak's");
    is_text(made("/d/.pb.gz", OUTPUT_PEAK, 3), "/d/.peak.pb.gz", "a name that is all suffix");
    segment.header->parent_pid = 99;
    is_text(made("/d/a.pb.gz", OUTPUT_END, 1), "/d/a.4321.pb.gz", "a child has its pid in the name");
    is_text(made("/d/%p.pb.gz", OUTPUT_END, 1), "/d/4321.pb.gz", "but not twice");
    is_text(made("/d/a", OUTPUT_DUMP, 2), "/d/a.4321.2", "pid and number");
    is_text(made("/d/a.pb.gz", OUTPUT_PEAK, 2), "/d/a.4321.peak.pb.gz", "pid and peak");
    is_text(name_unknown("/d/%e%%x%x%y"), "%x%y", "which is told");
    ok(!name_unknown("%e%p%n%h%t%%") && name_unknown("%"), "of all that a %% may have behind it, or not");
    is_text(made("/d/%%p", OUTPUT_END, 1), "/d/%p.4321", "a percent sign and a p are no pid");
    segment.header->parent_pid = 0;
}

static void test_long(void) {
    static char template[3 * NAME_ROOM];
    memset(template, 'x', NAME_ROOM - 1);
    template[0] = '/';
    is_text(made(template, OUTPUT_END, 1), template, "a name that just fits");
    is_text(made(template, OUTPUT_DUMP, 1), "(too long)", "and with a number does not");
    memset(template, 'x', sizeof template - 1);
    template[0] = '/';
    is_text(made(template, OUTPUT_END, 1), "(too long)", "a longer one");
    is(name_given(template, name, sizeof name), -ENAMETOOLONG, "given by the program");
    is(name_given("any %p", name, sizeof name), 0, "given by the program");
    is_text(name, "any %p", "it is taken as it is");
    char temporary[NAME_ROOM];
    name_temporary("/some/dir/file", temporary, sizeof temporary);
    ok(strncmp(temporary, "/some/dir/.", 11) == 0 && !strchr(temporary + 11, '/'),
       "the temporary file is beside it, and hidden");
}

static char directory[] = "/tmp/cprof-name.XXXXXX";

static char *in(const char *file) {
    static char path[4][NAME_ROOM];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", directory, file);
    return path[turn];
}

static void write_file(const char *path, const char *text, int64_t modified_ns) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(fd, text, strlen(text)) < 0)
        printf("# %s: %s\n", path, strerror(errno));
    struct timespec times[2] = {{modified_ns / 1000000000, modified_ns % 1000000000},
                                {modified_ns / 1000000000, modified_ns % 1000000000}};
    futimens(fd, times);
    close(fd);
}

static const char *text_in(const char *path) {
    static char text[64];
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    if (fd >= 0)
        close(fd);
    return n < 0 ? "(none)" : text;
}

static int put(const char *text, const char *to) {
    write_file(in("temporary"), text, (int64_t)segment.header->start_wall_ns + 5000000000);
    snprintf(name, sizeof name, "%s", in(to));
    return name_put(in("temporary"), name);
}

static void test_putting(void) {
    int64_t start = 1700000000000000000;
    segment.header->start_wall_ns = (uint64_t)start;
    name_init("x.pb.gz", "/usr/bin/program"); /* the session begins with it */
    if (!mkdtemp(directory))
        return;
    is(put("one", "a.pb.gz"), 0, "where there is no file");
    ok(strcmp(text_in(in("a.pb.gz")), "one") == 0 && strcmp(text_in(in("temporary")), "(none)") == 0,
       "it takes the name");
    is(put("two", "a.pb.gz"), 0, "where the process wrote one itself");
    is_text(text_in(in("a.pb.gz")), "two", "that is replaced");
    write_file(in("old.pb.gz"), "old", start - 1);
    is(put("three", "old.pb.gz"), 0, "where a file is older than the process");
    is_text(text_in(in("old.pb.gz")), "three", "that is replaced too");
    write_file(in("new.pb.gz"), "new", start);
    is(put("four", "new.pb.gz"), 0, "where another one wrote since");
    is_text(text_in(in("new.pb.gz")), "new", "that stays");
    is_text(text_in(in("new.2.pb.gz")), "four", "and it is put beside");
    is_text(name, in("new.2.pb.gz"), "which its name tells");
    is_text(text_in(in("temporary")), "(none)", "without anything left over");
    write_file(in("x.pb.gz"), "new", start);
    write_file(in("x.2.pb.gz"), "new", start);
    write_file(in("x.3.pb.gz"), "new", start);
    is(put("five", "x.pb.gz"), 0, "where there are several");
    is_text(text_in(in("x.4.pb.gz")), "five", "the first free number is taken");
    write_file(in("p"), "new", start);
    is(put("six", "p"), 0, "a short name without a suffix");
    is_text(text_in(in("p.2")), "six", "has the number at its end");
    is(put("seven", "none/such"), -ENOENT, "no such directory");
    test_fail_syscall(SYS_rename, EROFS, 0, TEST_ALWAYS);
    is(put("eight", "b"), -EROFS, "what the kernel says is passed on");
    test_fail_syscall(0, 0, 0, 0);
}

/* A process that was another program before an exec, and its forked children. */
static void test_after_exec(void) {
    struct timespec boot;
    uint64_t start = (uint64_t)time(NULL) * 1000000000u;
    char segments[2][100];
    uint32_t pid = (uint32_t)getpid(), uid = geteuid();
    for (int i = 0; i < 2; i++) {
        snprintf(segments[i], sizeof segments[i], "%s%u/%u-7%s.segment", SEGMENT_FILE_DIRECTORY, uid, pid,
                 i ? "-1" : "");
        close(segment_file_create(4096, uid, pid, 7));
        is(segment_file_is_successor(), i, i ? "it finds what it was before" : "a first program");
    }
    segment.header->start_wall_ns = start;
    segment.header->start_ticks = 0; /* long ago */
    name_init("a.pb.gz", "/usr/bin/program");
    write_file(in("after.pb.gz"), "first", (int64_t)start - 1000000000);
    is(put("second", "after.pb.gz"), 0, "after an exec");
    is_text(text_in(in("after.pb.gz")), "second", "the last program has the name");
    is_text(text_in(in("after.2.pb.gz")), "first", "the one before has the number");
    segment_file_disown();
    clock_gettime(CLOCK_BOOTTIME, &boot);
    segment.header->start_ticks = (uint64_t)boot.tv_sec * 100 + 6000; /* later than the sibling's end */
    write_file(in("child.pb.gz"), "sibling", (int64_t)start + 1);
    is(put("child", "child.pb.gz"), 0, "a child that got the number of a sibling that has ended");
    is_text(text_in(in("child.pb.gz")), "sibling", "leaves its profile alone");
    for (int i = 0; i < 2; i++)
        unlink(segments[i]);
}

int main(void) {
    unsetenv("LD_PRELOAD");
    test_segment();
    test_templates();
    test_telling_apart();
    test_long();
    test_putting();
    test_after_exec();
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", directory);
    is(system(command), 0, "cleaned up");
    return tap_done();
}
