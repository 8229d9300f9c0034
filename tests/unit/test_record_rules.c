/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of this very program: which module they are of, which rule they have, and both while libraries are
 * "closed". */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "preload/record/memory.h"
#include "preload/record/modules.h"
#include "preload/record/rules.h"
#include "preload/record/stack.h"
#include "tests/unit/record_helpers.h"
#include "tests/unit/tap.h"

static uint32_t rule_of(uint32_t pc) {
    return segment.pcs[pc].rule;
}

static const char *path_of(const struct segment_module *m) {
    return segment.strings + m->path;
}

/* Its first segment is linked to 0, so that the bias is where the file was mapped to. */
static int is_at_bias(const struct segment_module *m, const void *p) {
    Dl_info info;
    return dladdr(p, &info) && (uintptr_t)info.dli_fbase == m->bias;
}

static __attribute__((noinline)) int some_function(int n) {
    return n * 3 + (int)getppid();
}

static char executable[4096];

static void test_modules(void) {
    const struct segment_module *m = &segment.modules[1];
    ok(m->ready, "the main executable is module 1");
    is_text(path_of(m), executable, "by its name");
    uintptr_t code = (uintptr_t)some_function;
    ok(code >= m->start && code < m->limit, "its executable part holds its functions");
    ok(m->file_offset > 0 && m->file_offset < 1 << 26 && m->file_offset % MEMORY_PAGE == 0,
       "and begins where the file has it");
    ok(m->build_id_len == 20, "it has a build id");
    struct object o;
    is(modules_object_at(code, &o), 1, "its address is found");
    is(modules_at(code, &o), 1, "as module 1");
    ok(o.eh_frame_hdr && (uintptr_t)o.eh_frame_hdr >= o.start && (uintptr_t)o.eh_frame_hdr < o.limit,
       "all of the object is known, its unwind tables too");
    is(modules_object_at((uintptr_t)&o, &o), 0, "the stack is in no object");
    ok(modules_object_at((uintptr_t)dlsym, &o), "libc is one");
    uint32_t libc = modules_at((uintptr_t)dlsym, &o);
    ok(libc > 1 && strstr(path_of(&segment.modules[libc]), "libc.so"), "under its name");
    ok(is_at_bias(&segment.modules[libc], (const void *)dlsym), "at its place");
    is(modules_at((uintptr_t)dlsym, &o), libc, "and the same one the next time");
    is(modules_drop_unloaded(), 0, "none was closed");
}

static uint32_t trampoline;
static void handler(int sig) {
    (void)sig;
    trampoline = rules_find((uintptr_t)__builtin_return_address(0) - 1);
}

static void test_rules(void) {
    uintptr_t code = (uintptr_t)some_function + 1;
    uint32_t pc = rules_find(code);
    ok(pc >= SEGMENT_PC_FIRST && segment.pcs[pc].address == code && segment.pcs[pc].module == 1,
       "an address is entered");
    is(rules_find(code), pc, "once");
    struct object o;
    modules_object_at(code, &o);
    is(rule_of(pc), rule_pack(cfi_rule(code, o.eh_frame_hdr, o.start, o.limit)), "with the rule that its tables give");
    ok(rule_kind(rule_of(pc)) == RULE_SP || rule_kind(rule_of(pc)) == RULE_BP, "an ordinary one");
    uint32_t nowhere = rules_find((uintptr_t)&o);
    ok(nowhere && !segment.pcs[nowhere].module && rule_kind(rule_of(nowhere)) == RULE_NONE,
       "an address in no object has none");
    is(rule_kind(rule_of(rules_find(16))), RULE_NONE, "nor has one in no memory at all");
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
#ifdef __SANITIZE_THREAD__
    ok(trampoline, "the trampoline # SKIP handlers are called by the sanitizer");
#else
    is(rule_kind(rule_of(trampoline)), RULE_SIGNAL, "the trampoline that handlers return to is known");
#endif
    uint32_t generation = rules_generation();
    rules_forget();
    ok(rules_generation() != generation, "after a library was closed kept walks are void");
    is(rules_find(code), pc, "addresses in libraries that are still there stay");
    uint32_t again = rules_find((uintptr_t)&o);
    ok(again && again != nowhere && rule_of(again) == rule_of(nowhere), "and others are looked up anew");
    is(segment.pcs[nowhere].address, (uintptr_t)&o, "what was entered before stays for those who hold it");
    segment.modules[1].flags |= SEGMENT_MODULE_CLOSED;
    rules_forget();
    is(rules_find(code), pc, "a library that is back at its place finds its own");
    is(segment.modules[1].flags & SEGMENT_MODULE_CLOSED, 0, "and is open again");
    memory_limit = memory_own();
    uint32_t refused = 0;
    for (uintptr_t i = 0; i < 200000 && !refused; i++)
        refused = !rules_find(i);
    memory_limit = UINT64_MAX;
    ok(refused, "without memory an address can't be entered");
}

/* Threads meet the same addresses at once, while one of them forgets them all now and then. */
enum { THREADS = 6, ROUNDS = 200, ADDRESSES = 64 };
static uint32_t wrong[THREADS], want[ADDRESSES];

/* Half of them in a library, half in nothing at all. */
static uintptr_t address_of(unsigned a) {
    return a % 2 ? (uintptr_t)dlsym + a : 4096 + a;
}

static void meet(unsigned number) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (number == 0 && i % 20 == 19)
            rules_forget();
        for (unsigned a = 0; a < ADDRESSES; a++) {
            uint32_t pc = rules_find(address_of(a));
            wrong[number] += !pc || segment.pcs[pc].address != address_of(a) || segment.pcs[pc].rule != want[a];
        }
    }
}

static void test_threads_meet(void) {
    uint32_t all = 0;
    for (unsigned a = 0; a < ADDRESSES; a++)
        want[a] = rule_of(rules_find(address_of(a)));
    uint64_t before = segment.header->region[SEGMENT_PCS].used;
    test_threads(THREADS, meet);
    for (unsigned i = 0; i < THREADS; i++)
        all += wrong[i];
    is(all, 0, "threads at once: each address has its rule, whoever entered it");
    uint64_t entered = segment.header->region[SEGMENT_PCS].used - before;
    ok(entered >= ROUNDS / 20 * ADDRESSES / 2 && entered < (ROUNDS / 20 + 1) * ADDRESSES / 2 * THREADS,
       "%lu were entered",
       (unsigned long)entered);
}

int main(void) {
    test_segment();
    stack_init((uintptr_t)getauxval(AT_EXECFN));
    if (!rules_init())
        return 1;
    if (readlink("/proc/self/exe", executable, sizeof executable - 1) < 0)
        return 1;
    modules_init(getauxval(AT_PHDR), executable);
    test_modules();
    test_rules();
    test_threads_meet();
    return tap_done();
}
