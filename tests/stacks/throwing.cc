// SPDX-License-Identifier: Apache-2.0
// Stacks of the kinds that C++ programs have: exceptions that are thrown through several frames and caught, destructors
// that allocate while the stack is being unwound, a realigned stack, alloca, calls from a signal handler on a stack of
// its own, deep recursion, threads, and a plugin that is loaded, called (it throws too) and closed, over and over.
//
//     throwing PLUGIN ROUNDS
#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <ucontext.h>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

static NOINLINE void keep(void *p) {
    sink += reinterpret_cast<long>(p) & 1;
    free(p);
}

struct Guard {
    ~Guard() {
        keep(malloc(24)); // while an exception is on its way
    }
};

static NOINLINE void descend(int depth) {
    Guard guard;
    if (depth == 0)
        throw std::runtime_error(std::string(100, 'x'));
    descend(depth - 1);
    keep(malloc(8));
}

// A frame that aligns its stack to more than the ABI does.
static NOINLINE void realigned(int depth) {
    alignas(64) char buffer[256];
    memset(buffer, depth, sizeof buffer);
    keep(malloc(sizeof buffer));
    if (depth > 0)
        realigned(depth - 1);
    sink += buffer[depth];
}

static NOINLINE void variable(size_t n) {
    char *p = static_cast<char *>(alloca(n));
    memset(p, 1, n);
    keep(malloc(n));
    realigned(2);
    sink += p[n / 2];
}

static NOINLINE long recurse(int depth) {
    std::vector<int> v(static_cast<size_t>(depth) + 1);
    return depth ? recurse(depth - 1) + static_cast<long>(v.size()) : 1;
}

static void handler(int) {
    realigned(1);
    keep(malloc(40));
}

static NOINLINE void interrupted() {
    raise(SIGUSR1);
    keep(malloc(16));
}

// In the middle of a function, at an instruction that is no call.
static NOINLINE void trapped(volatile int *zero) {
    keep(malloc(32));
    __asm__ volatile("ud2" : : "r"(zero));
    keep(malloc(48));
}

static void trap_handler(int, siginfo_t *, void *context) {
    keep(malloc(56));
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP] += 2; // behind the ud2
}

static ucontext_t main_context, coroutine;

static void coroutine_main() {
    for (;;) {
        recurse(5);
        swapcontext(&coroutine, &main_context);
    }
}

static std::jmp_buf jump;

static NOINLINE void jump_out(int depth) {
    keep(malloc(64));
    if (depth > 0)
        jump_out(depth - 1);
    else if (sink >= 0)
        longjmp(jump, 1);
}

static NOINLINE void use_plugin(const char *path, int round) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    auto *run = reinterpret_cast<int (*)(int, void (*)(int))>(dlsym(handle, "plugin_run"));
    sink += run(round, [](int depth) { realigned(depth); });
    dlclose(handle);
}

static void round_of_all(int round) {
    try {
        descend(round % 30);
    } catch (const std::exception &e) {
        sink += static_cast<long>(strlen(e.what()));
    }
    realigned(round % 5);
    variable(64 + static_cast<size_t>(round) % 500);
    recurse(round % 40);
    interrupted();
    int zero = 0;
    trapped(&zero);
    if (!setjmp(jump))
        jump_out(round % 7);
    swapcontext(&main_context, &coroutine);
}

static void thread_main(int rounds) {
    for (int i = 0; i < rounds; i++) {
        try {
            descend(i % 20);
        } catch (const std::exception &) {
            realigned(3);
        }
        recurse(i % 30);
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 2 ? atoi(argv[2]) : 100;
    static char alternate[65536], coroutine_stack[65536];
    stack_t stack = {};
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    struct sigaction trap = {};
    trap.sa_sigaction = trap_handler;
    trap.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &trap, nullptr);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = coroutine_stack;
    coroutine.uc_stack.ss_size = sizeof coroutine_stack;
    makecontext(&coroutine, coroutine_main, 0);

    for (int i = 0; i < rounds; i++) {
        round_of_all(i);
        if (argc > 1)
            use_plugin(argv[1], i);
    }
    recurse(3000);
    std::thread a(thread_main, rounds), b(thread_main, rounds);
    a.join();
    b.join();
    printf("%d rounds\n", rounds);
}
