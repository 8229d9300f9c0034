/* SPDX-License-Identifier: Apache-2.0 */
/* The start and the end of the process.
 *
 * Start: the library's constructor, the first of all (-z initfirst), even before libc's. So it must not load libraries: that
 * would initialize libc with the arguments that libc does not have yet. The backend is loaded when all libraries are
 * initialized and the program is about to begin, in __libc_start_main. End: a
 * function registered with __cxa_atexit in the constructor, so before any other, even before the loader's that runs all
 * libraries' destructors: exit() works backwards, and comes to it last.
 */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stddef.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

#include "preload/intercept/config.h"
#include "preload/intercept/dump.h"
#include "preload/intercept/ends.h"
#include "preload/intercept/limits.h"
#include "preload/intercept/next.h"
#include "preload/intercept/only.h"
#include "preload/intercept/symbol.h"
#include "preload/intercept/symbolize.h"
#include "preload/record/loader.h"
#include "preload/record/log.h"
#include "preload/record/maps.h"
#include "preload/record/memory.h"
#include "preload/record/modules.h"
#include "preload/record/output.h"
#include "preload/record/process.h"
#include "preload/record/record.h"
#include "preload/record/sampler.h"
#include "preload/record/segment.h"
#include "preload/record/segment_file.h"
#include "preload/record/stack.h"
#include "preload/record/sys.h"
#include "preload/record/text.h"

int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
/* Weak, so that other C libraries than glibc, which lack them, load this one; it then does nothing. */
int __cxa_at_quick_exit(void (*fn)(void *), void *dso) __attribute__((weak));
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso) __attribute__((weak));

/* Path of the executable, by the auxiliary vector: also when it was started as an argument of the loader. */
static const char *executable(void) {
    const char *name = (const char *)getauxval(AT_EXECFN);
    return name ? name : "";
}

static int same_file(const char *a, const char *b) {
    struct stat one, other;
    return sys4(SYS_newfstatat, AT_FDCWD, a, &one, 0) == 0 && sys4(SYS_newfstatat, AT_FDCWD, b, &other, 0) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* The main executable's file as the kernel knows it, which is not the loader's if that was started as a command; what
 * it was started by where there is no /proc. */
static const char *find_file(void) {
    static char path[4096];
    struct maps_buffer *buffer = memory_map(sizeof *buffer);
    struct maps_entry entry;
    struct text file;
    text_init(&file, path, sizeof path);
    text_add(&file,
             buffer && maps_find(getauxval(AT_PHDR), &entry, buffer) && buffer->path[0] ? buffer->path : executable());
    if (buffer)
        memory_unmap(buffer, sizeof *buffer);
    return path;
}

/* What the program is called: by the name that it was started by, which may be a link to one of another name
 * (redis-server is one to redis-check-rdb in Debian); but not by that of the loader or of a script. */
static const char *find_name(const char *file) {
    return text_basename(same_file(file, executable()) ? executable() : file);
}

/* Sanitizers that allocate by themselves. */
static int has_sanitizer(void *(*find)(const char *)) {
    static const char *const entries[] = {"__asan_init", "__tsan_init", "__msan_init", "__lsan_init", "__hwasan_init"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (find(entries[i]))
            return 1;
    return 0;
}

/* The backend stands beside this library. */
static const struct backend *load_backend(void) {
    char path[4096];
    struct text t;
    const char *us = loader_file(&config);
    text_init(&t, path, sizeof path);
    text_add_bytes(&t, us, (size_t)(text_basename(us) - us));
    text_add(&t, "libcprof-backend.so");
    /* Sanitizers' runtimes refuse RTLD_DEEPBIND. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | (has_sanitizer(symbol_find) ? 0 : RTLD_DEEPBIND));
    const struct backend *b = handle ? dlsym(handle, BACKEND_SYMBOL) : NULL;
    if (b && b->version == BACKEND_VERSION)
        return b;
    const char *why = dlerror(); /* also takes the text away */
    if (b)
        why = "it is of another version";
    log_line(LOG_ERROR, "not profiling: the backend could not be loaded: ", why ? why : path, NULL);
    if (handle)
        dlclose(handle);
    return NULL;
}

static uint32_t store(const char *s) {
    return segment_store_string(s, text_length(s));
}

static void fill_header(void) {
    struct segment_header *h = segment.header;
    const char *front = next_in_front();
    h->rate = config.rate;
    h->depth = (uint32_t)config.depth;
    h->drop_frames = store(config.drop_frames);
    h->allocator = store(next_allocator());
    if (front) {
        char buf[CONFIG_TEXT];
        struct text t;
        text_init(&t, buf, sizeof buf);
        text_add(&t, "malloc is served by ");
        text_add(&t, front);
        text_add(&t, ", which comes before libcprof.so: what it serves is not seen");
        h->note = store(buf);
        log_line(LOG_WARN, buf, NULL, NULL);
    }
}

static uint64_t seed(void) {
    uint64_t mix = config.seed;
    const uint64_t *kernel = (const uint64_t *)getauxval(AT_RANDOM); /* 16 random bytes */
    if (!mix && kernel)
        mix = kernel[0] ^ kernel[1];
    return mix ? mix : 1;
}

static const char *file, *program; /* the executable's path, and what it is called */

static int is_wanted(void) {
    file = find_file();
    program = find_name(file);
    return config.rate != 0 && only_wants(config.only, program);
}

/* Valgrind preloads one library, called core, with every tool, and another one with those that bring an allocator. */
static int is_valgrinds_allocator(const char *path) {
    const char *name = text_basename(path);
    return text_starts(name, "vgpreload_") && !text_starts(name, "vgpreload_core");
}

/* 1, and a line that says why, if there is nothing to be seen here. */
static int decline(int sanitized) {
    const char *why = sanitized ? "the program is built with a sanitizer, which allocates by itself"
                      : symbol_any_object(is_valgrinds_allocator)
                          ? "the program runs under a tool of valgrind's that allocates by itself"
                          : NULL;
    if (why)
        log_line(LOG_ERROR, "not profiling: ", why, NULL);
    return why != NULL;
}

/* No profile will come of it: the program gets back what was taken. With other threads about, which a constructor may have
 * started, only they know what they are looking at. */
#pragma weak __libc_single_threaded
static void give_up(void) {
    int alone = &__libc_single_threaded && __libc_single_threaded;
    record_give_up(alone);
    if (alone)
        output_discard();
}

static int start(void) {
    struct limits_share share;
    if (!limits_share(&share)) {
        log_line(LOG_ERROR, "not profiling: the address space is limited (ulimit -v), and what is left of it too little for the "
                 "program and its records", NULL, NULL);
        return 0;
    }
    memory_limit = config.max_memory < share.records ? config.max_memory : share.records;
    walk_mode = (enum walk_mode)config.unwind;
    walk_depth = (uint32_t)config.depth;
    process_follow = (int)config.follow_fork;
    struct segment_identity who;
    stack_init((uintptr_t)getauxval(AT_EXECFN)); /* a string at the very top of the stack */
    process_identity(&who, 1);
    int ret = segment_create(&who, share.segment);
    if (ret == 0) {
        modules_init(getauxval(AT_PHDR), file);
        fill_header();
        process_enter_header(&who);
        ret = output_init(config.out, program);
    }
    if (ret == 0)
        ret = record_init(&(struct record_settings){.rate = config.rate,
                                                    .seed = seed(),
                                                    .repeatable = config.seed != 0,
                                                    .granule = next_is_glibc() ? 32 : 8,
                                                    .started = (int)config.start});
    if (ret < 0) {
        log_error(LOG_ERROR, "not profiling: no memory for the records", NULL, -ret);
        give_up();
        return 0;
    }
    process_go_live();
    __register_atfork(NULL, ends_forked, process_forked, NULL);
    dump_init(&config);
    return 1;
}

static int started;
static const struct backend *backend;

/* Once; in the main thread before the program begins, or at the end of one that began in some other way. */
static void get_backend(void) {
    static uint32_t tried;
    if (exchange_acquire(&tried, 1u))
        return;
    record_pause();
    backend = load_backend();
    record_resume();
    if (!backend) {
        give_up();
        return;
    }
    output_backend(backend);
    store_release(&walk_rare, backend->step);
}

static void end(void *unused) {
    (void)unused;
    get_backend();
    dump_at_end();
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **env) {
    (void)argc;
    (void)argv;
    /* What one in front of us has put in libc's place does not work yet: it is initialized after us. */
    int sanitized = has_sanitizer(symbol_find_before);
    if (!sanitized)
        next_lookup();
    /* With more rights than its caller's, a program must not be told by the caller where to write. */
    if (getauxval(AT_SECURE) || !__cxa_at_quick_exit || !__register_atfork) {
        record_never();
        return;
    }
    config_read(env);
    symbolize_init(env);
    log_level = (enum log_level)config.log;
    started = is_wanted() && !decline(sanitized) && start();
    if (!started) {
        record_never();
        return;
    }
    __cxa_atexit(end, NULL, NULL);
    __cxa_at_quick_exit(end, NULL);
}

HIDDEN void *life_before_main(void);
void *life_before_main(void) {
    if (started)
        get_backend();
    return symbol_find_next("__libc_start_main");
}
