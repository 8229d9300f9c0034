/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "preload/record/sys.h"

uint64_t memory_limit = UINT64_MAX;

static uint64_t charged;
static uint64_t *shown;

/* Returns the sum. */
static uint64_t account(uint64_t change) {
    uint64_t now = add_relaxed(&charged, change) + change, *to = load_acquire(&shown);
    if (to)
        store_relaxed(to, now);
    return now;
}

int memory_charge(size_t bytes) {
    if (likely(account(bytes) <= memory_limit))
        return 1;
    memory_discharge(bytes);
    return 0;
}

void memory_discharge(size_t bytes) {
    account((uint64_t)0 - bytes);
}

void memory_show(uint64_t *at) {
    store_release(&shown, at);
    account(0);
}

uint64_t memory_own(void) {
    return load_relaxed(&charged);
}

static void *map(size_t bytes, int prot) {
    void *at = sys_mmap(NULL, memory_pages(bytes), prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return sys_failed((long)at) ? NULL : at;
}

void *memory_map_sparse(size_t bytes) {
    return map(bytes, PROT_READ | PROT_WRITE);
}

void memory_unmap_sparse(void *at, size_t bytes) {
    sys_munmap(at, memory_pages(bytes));
}

void *memory_map(size_t bytes) {
    if (!memory_charge(memory_pages(bytes)))
        return NULL;
    void *at = map(bytes, PROT_READ | PROT_WRITE);
    if (!at)
        memory_discharge(memory_pages(bytes));
    return at;
}

void memory_unmap(void *at, size_t bytes) {
    sys_munmap(at, memory_pages(bytes));
    memory_discharge(memory_pages(bytes));
}

void *memory_map_readable(size_t bytes) {
    return map(bytes, PROT_READ);
}

void *memory_reserve(size_t bytes) {
    return map(bytes, PROT_NONE);
}

int memory_open_anyway(void *at, size_t bytes, int anyway) {
    if (anyway)
        account(bytes);
    else if (!memory_charge(bytes))
        return -ENOMEM;
    long ret = sys_mprotect(at, bytes, PROT_READ | PROT_WRITE);
    if (ret < 0)
        memory_discharge(bytes);
    return (int)ret;
}
