/* SPDX-License-Identifier: Apache-2.0 */
/* mixture SECONDS SEED PLUGIN DIRECTORY: everything at the same time. Threads that hammer the allocator and free each other's
 * blocks; threads that come and go; coroutines; a handler of SIGPROF that allocates and unwinds; copies of PLUGIN, put into
 * DIRECTORY, that are opened, throw exceptions, and are closed; forks; and SIGUSR2, for those who dump at it. Prints
 *
 *     child PID BLOCKS BYTES                  of each child, in hammer_child
 *     did, total                              as tests/system/hammer.c
 *     counted PID BYTES CALLS BYTES CALLS     where counter_plugin.so is loaded: what the profiler counted, and what that did */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/long/mover.h"
#include "tests/system/hammer.h"

__attribute__((weak)) void counter_totals(uint64_t totals[2]);

static atomic_int stop;
static const char *plugin, *directory;
static uint64_t seed;

struct figures {
    uint64_t counted[2], counter[2];
};

static struct figures figures(void) {
    struct cprof_stats s = stats();
    struct figures f = {.counted = {s.alloc_bytes, s.alloc_calls}};
    if (counter_totals)
        counter_totals(f.counter);
    return f;
}

/* One write, so that lines of several processes don't mix. */
static void say_counted(struct figures before) {
    struct figures now = figures();
    char line[200];
    int n = snprintf(line, sizeof line, "counted %d %lu %lu %lu %lu\n", (int)getpid(), now.counted[0] - before.counted[0],
                     now.counted[1] - before.counted[1], now.counter[0] - before.counter[0],
                     now.counter[1] - before.counter[1]);
    if (counter_totals && write(1, line, (size_t)n) != n)
        die("stdout");
}

static void pause_ms(long ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- Threads that stay, and threads that come and go ---- */

static void *work(void *arg) {
    while (!stop) {
        for (unsigned i = 0; i < 256; i++)
            take_and_put(arg);
        odd_calls(arg);
    }
    return NULL;
}

static void *work_a_little(void *arg) {
    for (unsigned i = 0; i < 50; i++)
        take_and_put(arg);
    return NULL;
}

static void *breed(void *arg) {
    struct worker *w = arg;
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    while (!stop) {
        pthread_attr_setstacksize(&attr, (1 + next_random(w) % 16) << 16);
        if (pthread_create(&thread, &attr, work_a_little, w) != 0)
            die("no thread");
        pthread_join(thread, NULL);
    }
    return NULL;
}

/* ---- Coroutines, by libc's functions and by hand ---- */

#define COROUTINES 6
#define COROUTINE_STACK (64u << 10)

static struct {
    ucontext_t main, each[COROUTINES];
    struct worker *worker;
} routines;

static void coroutine(int number) {
    while (!stop) {
        take_and_put(routines.worker);
        swapcontext(&routines.each[number], &routines.main);
    }
}

/* Calls fn(arg) with the stack pointer at `top`. */
static void on_stack(char *top, void *(*fn)(void *), void *arg) {
    __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcall *%1\n\tmovq %%rbx, %%rsp"
                     : "+r"(top), "+r"(fn), "+D"(arg)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                       "xmm15");
}

static char *new_stack(void) {
    char *stack = mmap(NULL, COROUTINE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        die("no stack");
    return stack;
}

static void *switch_stacks(void *arg) {
    char *by_hand = new_stack();
    routines.worker = arg;
    for (int i = 0; i < COROUTINES; i++) {
        ucontext_t *c = &routines.each[i];
        getcontext(c);
        c->uc_stack = (stack_t){.ss_sp = new_stack(), .ss_size = COROUTINE_STACK};
        c->uc_link = &routines.main;
        makecontext(c, (void (*)(void))coroutine, 1, i);
    }
    while (!stop) {
        swapcontext(&routines.main, &routines.each[next_random(arg) % COROUTINES]);
        on_stack(by_hand + COROUTINE_STACK, work_a_little, arg);
    }
    return NULL;
}

/* ---- A handler that allocates, when the thread that it interrupts is not in the allocator ---- */

static struct worker *ticked;
static volatile sig_atomic_t busy;

SITE void *hammer_handler(size_t size) {
    return malloc(size);
}

static void on_tick(int number) {
    int saved = errno;
    void *frames[64];
    (void)number;
    if (!busy) {
        size_t size = some_size(ticked);
        struct block *b = fill(ticked, hammer_handler(size), size);
        b = atomic_exchange(&slots[next_random(ticked) % SLOTS], b);
        if (b)
            give_back(ticked, b);
        if (backtrace(frames, 64) < 2)
            die("backtrace");
    }
    errno = saved;
}

static void *be_ticked(void *arg) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}}, never = {0};
    timer_t timer;
    ticked = arg;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    signal(SIGPROF, on_tick);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        die("no timer");
    timer_settime(timer, 0, &often, NULL);
    while (!stop) {
        busy = 1;
        take_and_put(arg);
        busy = 0;
        for (volatile int i = 0; i < 2000; i++)
            ;
    }
    timer_settime(timer, 0, &never, NULL);
    timer_delete(timer);
    return NULL;
}

/* ---- A library that moves ---- */

#define PATHS 40

static void copy_plugin(const char *path) {
    struct stat st;
    unlink(path);
    int from = open(plugin, O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fstat(from, &st) != 0 || sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
        die("no copy of the library");
    close(from);
    close(to);
}

static void *move(void *arg) {
    struct worker *w = arg;
    char path[4096];
    for (unsigned n = 0; !stop; n++) {
        size_t gap = (1 + next_random(w) % 64) * 4096;
        void *filler = mmap(NULL, gap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        snprintf(path, sizeof path, "%s/mover.%u.so", directory, n % PATHS);
        copy_plugin(path);
        void *handle = dlopen(path, RTLD_NOW);
        mover_throw_fn *mover_throw = handle ? (mover_throw_fn *)dlsym(handle, "mover_throw") : NULL;
        unsigned depth = (unsigned)(next_random(w) % 20), times = 20;
        if (!mover_throw)
            die(dlerror());
        for (unsigned i = 0; i < times; i++)
            if (!mover_throw(depth))
                die("an exception got lost");
        if (dlclose(handle) != 0)
            die("dlclose");
        munmap(filler, gap);
        uint64_t blocks = MOVER_KEPT + (uint64_t)times * (depth + 1);
        w->count.blocks += blocks;
        w->count.bytes += blocks * MOVER_SIZE;
        w->count.freed_blocks += blocks;
        w->count.freed_bytes += blocks * MOVER_SIZE;
    }
    return NULL;
}

/* ---- Children ---- */

SITE void *hammer_child(size_t size) {
    return malloc(size);
}

static void allocate_in_child(struct figures before, unsigned number) {
    struct worker w = {.random = seed + number};
    char line[100];
    for (int i = 0; i < 200; i++) {
        size_t size = some_size(&w);
        struct block *b = fill(&w, hammer_child(size), size);
        b = atomic_exchange(&slots[next_random(&w) % SLOTS], b);
        if (b)
            check(b), free(b);
    }
    if (number % 8 == 1)
        raise(SIGUSR2);
    int n = snprintf(line, sizeof line, "child %d %lu %lu\n", (int)getpid(), w.count.blocks, w.count.bytes);
    if (write(1, line, (size_t)n) != n)
        die("stdout");
    say_counted(before);
}

static void be_child(struct figures before, unsigned number) {
    pid_t grandchild = number % 4 == 2 ? fork() : -1;
    int status = 0;
    if (grandchild == 0)
        before = figures();
    allocate_in_child(before, number);
    if (grandchild > 0 && (waitpid(grandchild, &status, 0) != grandchild || status != 0))
        die("a grandchild got lost");
    _exit(0);
}

static void have_child(unsigned number) {
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        be_child(figures(), number);
    for (int ms = 0; ms < 60000 && waitpid(child, &status, WNOHANG) != child; ms += 2)
        pause_ms(2);
    if (status != 0) {
        printf("wrong: child %d %x\n", (int)child, (unsigned)status);
        kill(child, SIGABRT);
        abort();
    }
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    static void *(*const kinds[])(void *) = {work, work, work, breed, switch_stacks, be_ticked, move};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static struct worker workers[KINDS];
    static pthread_t threads[KINDS];
    static char buffer[4096];
    void *frames[4];
    struct count sum = {0};
    if (argc != 5)
        return 2;
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    seed = strtoull(argv[2], NULL, 10);
    plugin = argv[3];
    directory = argv[4];
    backtrace(frames, 4); /* loads what it needs, which a handler must not */
    struct figures before = figures();
    for (unsigned i = 0; i < KINDS; i++) {
        workers[i].random = seed * KINDS + i + 1;
        if (pthread_create(&threads[i], NULL, kinds[i], &workers[i]) != 0)
            die("no thread");
    }
    double end = seconds_now() + atof(argv[1]);
    for (unsigned i = 0; seconds_now() < end; i++) {
        pause_ms(40);
        if (i % 5 == 0)
            kill(getpid(), SIGUSR2);
        if (i % 8 == 7)
            have_child(i / 8);
    }
    stop = 1;
    for (unsigned i = 0; i < KINDS; i++) {
        pthread_join(threads[i], NULL);
        add_counts(&sum, &workers[i].count);
    }
    check_slots();
    say_counted(before);
    print_did(&sum);
    struct cprof_stats total = stats();
    printf("total %lu %lu\n", total.alloc_bytes, total.alloc_calls);
    return 0;
}
