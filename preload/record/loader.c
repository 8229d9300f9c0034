/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/loader.h"

#include <dlfcn.h>
#include <stddef.h>

int (*loader_find)(void *, struct loader_object *);

void loader_init(void) {
    if (!loader_find)
        loader_find = (int (*)(void *, struct loader_object *))dlsym(RTLD_DEFAULT, "_dl_find_object");
}

/* Where an object begins, or what else tells it apart; NULL: in none. */
static const void *object_of(const void *address) {
    struct loader_object o;
    Dl_info info;
    if (loader_find)
        return loader_find((void *)(size_t)address, &o) == 0 ? o.link_map : NULL;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

int loader_same_object(const void *a, const void *b) {
    const void *object = object_of(a);
    return object && object == object_of(b);
}

void loader_range(const void *address, uintptr_t *low, uintptr_t *size) {
    struct loader_object o;
    int found = loader_find && loader_find((void *)(size_t)address, &o) == 0;
    *low = found ? (uintptr_t)o.map_start : 0;
    *size = found ? (uintptr_t)o.map_end - *low : UINTPTR_MAX;
}

const char *loader_file(const void *address) {
    struct loader_object o;
    Dl_info info;
    /* The main executable has no name there; dladdr says what it was started as. */
    if (loader_find && loader_find((void *)(size_t)address, &o) == 0 && o.link_map->l_name[0])
        return o.link_map->l_name;
    return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}
