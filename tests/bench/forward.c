/* SPDX-License-Identifier: Apache-2.0 */
/* A preload that only hands calls on: what any interposer costs at the least. (For glibc, whose dlsym with RTLD_NEXT
 * does not allocate.) */
#include <dlfcn.h>
#include <stdlib.h>

static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t), *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
#define FIND(name) (next_##name ? (void)0 : (void)(next_##name = dlsym(RTLD_NEXT, #name)))

void *malloc(size_t size) {
    FIND(malloc);
    return next_malloc(size);
}
void *calloc(size_t n, size_t size) {
    FIND(calloc);
    return next_calloc(n, size);
}
void *realloc(void *p, size_t size) {
    FIND(realloc);
    return next_realloc(p, size);
}
void free(void *p) {
    FIND(free);
    next_free(p);
}
