/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "preload/record/memory.h"
#include "preload/record/segment.h"
#include "preload/record/segment_file.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

static const char *template;
static char directory[4096]; /* that a relative template belongs to; empty if it is absolute */
static char host[65];
static int descendant; /* a profiled program started this one */

/* When the first of the processes began that this one was forked from. A child may get the number, and so the name, of a
 * sibling that has ended: numbers are used again. */
static uint64_t session_start;

#define SUFFIX ".pb.gz"

static int has(const char *what) {
    for (const char *t = template; *t; t++)
        if (t[0] == '%' && t[1]) {
            if (t[1] == *what)
                return 1;
            t++;
        }
    return 0;
}

const char *name_unknown(const char *t) {
    static const char known[] = NAME_SEQUENCES;
    for (; *t; t++) {
        if (*t != '%')
            continue;
        const char *k = known;
        while (*k && *k != t[1])
            k++;
        if (!*k)
            return t;
        t++;
    }
    return NULL;
}

static int mentions(const char *s, const char *what) {
    for (; *s; s++)
        if (text_starts(s, what))
            return 1;
    return 0;
}

/* The parent's environment, as it was when it started, loads this library; and, if *names is asked for, names the same
 * template: then both belong to one session. */
static int parent_loads(int *names) {
    char path[64], *buf = memory_map(1 << 17);
    struct text name;
    int loads = 0, same = 0;
    if (!buf)
        return 0;
    text_init(&name, path, sizeof path);
    text_add(&name, "/proc/");
    text_add_number(&name, (uint64_t)sys1(SYS_getppid, 0));
    text_add(&name, "/environ");
    int fd = (int)sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    size_t len = 0;
    for (long n; fd >= 0 && len < (1 << 17) - 1 && (n = sys_read(fd, buf + len, (1 << 17) - 1 - len)) > 0;)
        len += (size_t)n;
    if (fd >= 0)
        sys_close(fd);
    for (size_t at = 0; at < len; at += text_length(buf + at) + 1) {
        loads |= text_starts(buf + at, "LD_PRELOAD=") && mentions(buf + at, "libcprof");
        same |= text_starts(buf + at, "CPROF_OUT=") && text_equal(buf + at + 10, template);
    }
    memory_unmap(buf, 1 << 17);
    if (names)
        *names = same;
    return loads;
}

int name_is_descendants(void) {
    return segment.header->parent_pid != 0 || parent_loads(NULL);
}

void name_init(const char *t, const char *exe) {
    struct utsname uts;
    struct text name;
    int same_template;
    template = t;
    directory[0] = 0;
    if (template[0] != '/' && sys2(SYS_getcwd, directory, sizeof directory) < 0)
        directory[0] = 0;
    if (has("h") && sys1(SYS_uname, &uts) == 0) {
        text_init(&name, host, sizeof host);
        text_add(&name, uts.nodename);
    }
    text_init(&name, segment.header->name, sizeof segment.header->name);
    text_add(&name, text_basename(exe));
    descendant = !has("p") && parent_loads(&same_template) && same_template;
    session_start = segment.header->start_wall_ns;
}

static void add_template(struct text *out, uint64_t number) {
    const struct segment_header *h = segment.header;
    for (const char *t = template; *t; t++) {
        if (*t != '%' || !t[1]) {
            text_add_bytes(out, t, 1);
            continue;
        }
        switch (*++t) {
        case 'e':
            text_add(out, h->name);
            break;
        case 'p':
            text_add_number(out, h->pid);
            break;
        case 'n':
            text_add_number(out, number);
            break;
        case 'h':
            text_add(out, host);
            break;
        case 't':
            text_add_number(out, h->start_wall_ns / 1000000000u);
            break;
        case '%':
            text_add(out, "%");
            break;
        default: /* name_unknown() */
            text_add_bytes(out, t - 1, 2);
            break;
        }
    }
}

/* Puts ".WORD" before the suffix. */
static void insert(struct text *name, const char *word) {
    size_t suffix = sizeof SUFFIX - 1;
    int suffixed = name->len > suffix && text_equal(name->at + name->len - suffix, SUFFIX);
    if (suffixed)
        name->len -= suffix;
    text_add(name, ".");
    text_add(name, word);
    if (suffixed)
        text_add(name, SUFFIX);
}

static void insert_number(struct text *name, uint64_t n) {
    char digits[24];
    struct text t;
    text_init(&t, digits, sizeof digits);
    text_add_number(&t, n);
    insert(name, digits);
}

int name_make(enum output_kind kind, uint32_t number, char *buf, size_t room) {
    const struct segment_header *h = segment.header;
    struct text name;
    text_init(&name, buf, room);
    if (directory[0]) {
        text_add(&name, directory);
        text_add(&name, "/");
    }
    add_template(&name, number);
    if (!has("p") && (descendant || h->parent_pid))
        insert_number(&name, h->pid);
    if (kind == OUTPUT_DUMP && !has("n"))
        insert_number(&name, number);
    if (kind == OUTPUT_PEAK)
        insert(&name, "peak");
    return name.cut ? -ENAMETOOLONG : 0;
}

int name_given(const char *path, char *buf, size_t room) {
    struct text name;
    text_init(&name, buf, room);
    text_add(&name, path);
    return name.cut ? -ENAMETOOLONG : 0;
}

void name_temporary(const char *path, char *buf, size_t room) {
    struct text name;
    text_init(&name, buf, room);
    text_add_bytes(&name, path, (size_t)(text_basename(path) - path));
    text_add(&name, ".cprof-");
    text_add_number(&name, segment.header->pid);
    text_add(&name, "-");
    text_add_number(&name, segment.header->dumps);
    text_add(&name, ".tmp");
}

/* The last name that this process gave to a file. (The file may be another one by now, with names put in.) */
static char own[NAME_ROOM];

static void remember(const char *path) {
    struct text t;
    text_init(&t, own, sizeof own);
    text_add(&t, path);
}

/* When the process began, not the program that it runs now, and rather too early than too late: it is known to a hundredth of a
 * second, and the clock that files get their time from is as far behind. */
#define UNCERTAIN 20000000u
static uint64_t process_start(void) {
    const struct segment_header *h = segment.header;
    struct timespec now = {0};
    sys2(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    uint64_t age = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - h->start_ticks * 10000000u;
    sys2(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - age;
}

/* The file there is of this session: written since then, and not by this program itself. */
static int is_taken(const char *path) {
    struct stat st;
    if (text_equal(path, own) || sys4(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    uint64_t modified = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    return modified >= (segment_file_is_successor() ? process_start() - UNCERTAIN : session_start);
}

/* Not rename, which would replace what appeared there this moment. Not every file system can do the first of these, or the
 * second. */
static int move_to_free(const char *from, const char *to) {
    long ret = sys6(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to, RENAME_NOREPLACE, 0);
    if (ret == -EINVAL || ret == -ENOSYS) {
        ret = sys2(SYS_link, from, to);
        if (ret == 0)
            sys1(SYS_unlink, from);
    }
    return (int)ret;
}

static int put_beside(const char *temporary, char *path) {
    char plain[sizeof SUFFIX];
    struct text name = {.at = path, .len = text_length(path), .room = NAME_ROOM};
    size_t len = name.len, kept = len < sizeof SUFFIX - 1 ? len : sizeof SUFFIX - 1;
    for (size_t i = 0; i <= kept; i++)
        plain[i] = path[len - kept + i];
    for (uint64_t n = 2; n < 10000; n++) {
        insert_number(&name, n);
        int ret = move_to_free(temporary, path);
        if (ret != -EEXIST)
            return ret;
        name.len = len;
        for (size_t i = 0; i <= kept; i++)
            path[len - kept + i] = plain[i];
    }
    return -EEXIST;
}

/* What the process wrote as the program that it was before an exec gets a number: the plain name is for the last one,
 * which is the one that was meant where a shell, env or nice began. */
static int put_in_place_of_predecessor(const char *temporary, char *path) {
    char beside[NAME_ROOM];
    struct text name;
    text_init(&name, beside, sizeof beside);
    text_add(&name, path);
    int ret = put_beside(path, beside);
    return ret < 0 ? put_beside(temporary, path) : move_to_free(temporary, path);
}

int name_put(const char *temporary, char *path) {
    int ret = !is_taken(path)               ? (int)sys2(SYS_rename, temporary, path)
              : segment_file_is_successor() ? put_in_place_of_predecessor(temporary, path)
                                            : put_beside(temporary, path);
    if (ret == 0)
        remember(path);
    return ret;
}
