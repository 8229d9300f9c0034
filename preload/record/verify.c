/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/verify.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "preload/record/modules.h"
#include "preload/record/process.h"
#include "preload/record/rules.h"
#include "preload/record/segment.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"
#include "preload/record/walk.h"

/* The calls that lead here first (tests/stacks/rules.mk), and where they were to go. */
void __real_config_read(char *const *env);
void __wrap_config_read(char *const *env);
void *__real_life_before_main(void);
void *__wrap_life_before_main(void);
void __real_record_block(void *p, size_t size, const struct registers *caller);
void __wrap_record_block(void *p, size_t size, const struct registers *caller);
uint32_t __real_walk_stack(struct walk *w, const struct registers *r, int *truncated);
uint32_t __wrap_walk_stack(struct walk *w, const struct registers *r, int *truncated);

static const char *out; /* CPROF_VERIFY_OUT */
static verify_backtrace *backtrace;

/* This thread is comparing: what is allocated meanwhile is libunwind's and not recorded. */
static __thread volatile int inside __attribute__((tls_model("initial-exec")));

/* One thread at a time compares; 0, or the number of the process whose thread it is (one left by a fork counts for
 * nothing). The others don't wait, since that may be for a lock that they hold themselves: their stacks are counted as
 * `busy`. */
static uint32_t turn;

#define MAX_FRAMES 8192
static uintptr_t ours[MAX_FRAMES], theirs[MAX_FRAMES];

/* Results, written to memory that is the file. */
enum { COMPARED, EQUAL, LIMIT, GUESSED, DIFFERING, LOST, NODELESS, BUSY, NUMBERS };
static const char *const words[NUMBERS] = {
    [COMPARED] = "compared ",      /* stacks: the sum of the next four */
    [EQUAL] = "equal ",            /* frame by frame */
    [LIMIT] = "equal-to-limit ",   /* as far as the depth limit, where ours was cut */
    [GUESSED] = "equal-to-guess ", /* as far as libunwind's limit (VERIFY_GUESSED), where it ends */
    [DIFFERING] = "differing ",
    [LOST] = "lost ",         /* libunwind did not get to the caller of malloc */
    [NODELESS] = "nodeless ", /* there was no memory to keep the stack */
    [BUSY] = "busy ",         /* not compared, since another thread was comparing */
};
#define DIGITS 20
#define REPORT (256ul << 10)
static uint64_t number[NUMBERS];
static char *number_at[NUMBERS];
static struct text report;
static uint32_t report_process;

/* Stacks that differ in the same way are printed once: by the innermost frame up to which they agree. */
#define MAX_PRINTED 12
static uintptr_t printed[MAX_PRINTED];
static unsigned printed_count;

static void show(int which, uint64_t n) {
    for (int i = DIGITS; i-- > 0; n /= 10)
        number_at[which][i] = (char)('0' + n % 10);
}

/* A file for this process, of full size from the start. */
static int open_report(void) {
    char name[4096];
    struct text t;
    int fd = -1;
    for (uint64_t n = 0; n < 10000 && fd < 0; n++) {
        text_init(&t, name, sizeof name);
        text_add(&t, out);
        text_add(&t, ".");
        text_add_number(&t, (uint64_t)sys_getpid());
        text_add(&t, ".");
        text_add_number(&t, n);
        fd = (int)sys_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (fd < 0 || sys2(SYS_ftruncate, fd, REPORT) < 0)
        return 0;
    char *at = sys_mmap(NULL, REPORT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    sys_close(fd);
    if (sys_failed((long)at))
        return 0;
    if (report.at)
        sys_munmap(report.at, REPORT); /* the parent's */
    text_init(&report, at, REPORT);
    for (int i = 0; i < NUMBERS; i++) {
        text_add(&report, words[i]);
        number_at[i] = report.at + report.len;
        text_add(&report, "00000000000000000000\n");
        number[i] = 0;
    }
    printed_count = 0;
    report_process = process_number();
    return 1;
}

static void add_hex(struct text *t, uint64_t n) {
    char digits[16];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[n & 15];
        n >>= 4;
    } while (n);
    text_add(t, "0x");
    text_add_bytes(t, digits + at, sizeof digits - at);
}

static void add_frame(uintptr_t address) {
    struct object o;
    if (modules_object_at(address, &o)) {
        text_add(&report, o.path[0] ? text_basename(o.path) : "main");
        text_add(&report, "+");
        add_hex(&report, address - o.bias);
    } else {
        add_hex(&report, address);
    }
}

static void print_difference(uint32_t agree, uint32_t n, uint32_t m, int truncated, int end) {
    uintptr_t last = agree ? ours[agree - 1] : 0;
    for (unsigned i = 0; i < printed_count; i++)
        if (printed[i] == last)
            return;
    if (printed_count == MAX_PRINTED)
        return;
    printed[printed_count++] = last;
    text_add(&report, "\ndifference in stack ");
    text_add_number(&report, number[COMPARED]);
    text_add(&report, truncated ? ": ours (cut), libunwind's" : ": ours, libunwind's");
    if (end) {
        text_add(&report, end < 0 ? " (ended by error " : " (ended for reason ");
        text_add_number(&report, (uint64_t)(end < 0 ? -end : end));
        text_add(&report, ")");
    }
    text_add(&report, "\n");
    for (uint32_t i = 0; i < n || i < m; i++) {
        text_add(&report, i < agree ? "    " : "  * ");
        text_add_number(&report, i);
        text_add(&report, "  ");
        if (i < n)
            add_frame(ours[i]);
        if (i >= agree) {
            text_add(&report, i < n ? "  " : "-  ");
            if (i < m)
                add_frame(theirs[i]);
            else
                text_add(&report, "-");
        }
        text_add(&report, "\n");
    }
}

/* The addresses of a node, innermost first, without the mark of a cut stack. */
static uint32_t addresses_of(uint32_t node) {
    uint32_t n = 0;
    for (; node && n < MAX_FRAMES; node = segment.nodes[node].parent)
        if (segment.nodes[node].pc != SEGMENT_PC_TRUNCATED)
            ours[n++] = segment.pcs[segment.nodes[node].pc].address;
    return n;
}

static int compare(uintptr_t sp, uint32_t node, int truncated) {
    int end;
    uint32_t n = addresses_of(node), m = backtrace(sp, theirs, MAX_FRAMES, &end), agree = 0;
    if (!m)
        return LOST;
    number[COMPARED]++;
    while (agree < n && agree < m && ours[agree] == theirs[agree])
        agree++;
    if (agree == n && agree == m)
        return EQUAL;
    if (truncated && agree == n && n >= walk_depth)
        return LIMIT;
    if (end == VERIFY_GUESSED && agree == m)
        return GUESSED;
    print_difference(agree, n, m, truncated, end);
    return DIFFERING;
}

static void verify(uintptr_t sp, uint32_t node, int truncated) {
    static uint64_t busy;
    uint32_t found = load_relaxed(&turn), me = process_number();
    if (found == me || !cas_acq_rel(&turn, &found, me)) {
        add_relaxed(&busy, 1u);
        return;
    }
    if (report_process == me || open_report()) {
        int which = node ? compare(sp, node, truncated) : NODELESS;
        number[which]++;
        number[BUSY] = __atomic_exchange_n(&busy, 0, __ATOMIC_RELAXED) + number[BUSY];
        show(COMPARED, number[COMPARED]);
        show(BUSY, number[BUSY]);
        show(which, number[which]);
    }
    store_release(&turn, 0u);
}

uint32_t __wrap_walk_stack(struct walk *w, const struct registers *r, int *truncated) {
    uint32_t node = __real_walk_stack(w, r, truncated);
    if (backtrace) {
        inside = 1;
        verify(r->sp, node, *truncated);
        inside = 0;
    }
    return node;
}

void __wrap_record_block(void *p, size_t size, const struct registers *caller) {
    if (!inside)
        __real_record_block(p, size, caller);
}

/* Where libraries may be loaded. */
void *__wrap_life_before_main(void) {
    char path[4096];
    struct text t;
    Dl_info us;
    text_init(&t, path, sizeof path);
    if (out && dladdr(&walk_rare, &us)) {
        text_add_bytes(&t, us.dli_fname, (size_t)(text_basename(us.dli_fname) - us.dli_fname));
        text_add(&t, "libcprof-verify.so");
        inside = 1;
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        backtrace = handle ? (verify_backtrace *)dlsym(handle, VERIFY_SYMBOL) : NULL;
        inside = 0;
    }
    return __real_life_before_main();
}

/* Takes the variable that is ours out of those that are looked at. */
void __wrap_config_read(char *const *env) {
    static const char name[] = "CPROF_VERIFY_OUT=";
    static char *others[16384];
    size_t n = 0;
    for (; env && *env && n < sizeof others / sizeof *others - 1; env++) {
        if (text_starts(*env, name))
            out = *env + sizeof name - 1;
        else
            others[n++] = *env;
    }
    __real_config_read(others);
}
