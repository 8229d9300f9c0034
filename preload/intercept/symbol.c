/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/intercept/symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/record/text.h"

struct symbols {
    const ElfW(Sym) *table;
    const char *names;
    const uint32_t *gnu_hash, *hash;
};

/* The loader has relocated the pointers in the dynamic section by the time an object is in use (the vdso's it has not). */
static int open_symbols(const struct link_map *m, struct symbols *s) {
    *s = (struct symbols){0};
    for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = d->d_un.d_ptr;
        if (at < m->l_addr)
            continue;
        if (d->d_tag == DT_SYMTAB)
            s->table = (const void *)at;
        else if (d->d_tag == DT_STRTAB)
            s->names = (const void *)at;
        else if (d->d_tag == DT_GNU_HASH)
            s->gnu_hash = (const void *)at;
        else if (d->d_tag == DT_HASH)
            s->hash = (const void *)at;
    }
    return s->table && s->names && (s->gnu_hash || s->hash);
}

static int defines(const struct symbols *s, const ElfW(Sym) *sym, const char *name) {
    unsigned type = ELF64_ST_TYPE(sym->st_info);
    return sym->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) && text_equal(s->names + sym->st_name, name);
}

/* The hash section: number of buckets, index of the first symbol in it, words of the Bloom filter, its shift; filter; buckets;
 * chains, whose last entry has its lowest bit set. */
static const ElfW(Sym) *find_by_gnu_hash(const struct symbols *s, const char *name) {
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint32_t n = s->gnu_hash[0], first = s->gnu_hash[1], words = s->gnu_hash[2];
    const uint32_t *buckets = s->gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / 4), *chains = buckets + n;
    if (!n)
        return NULL;
    for (uint32_t i = buckets[hash % n]; i >= first; i++) {
        uint32_t chain = chains[i - first];
        if ((chain | 1) == (hash | 1) && defines(s, &s->table[i], name))
            return &s->table[i];
        if (chain & 1)
            break;
    }
    return NULL;
}

/* System V's (gabi, 5-13): number of buckets, of symbols; buckets; for each symbol the next one of its chain, the last 0. */
static const ElfW(Sym) *find_by_hash(const struct symbols *s, const char *name) {
    uint32_t hash = 0, n = s->hash[0];
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash ^= hash >> 24 & 0xf0;
        hash &= 0x0fffffff;
    }
    for (uint32_t i = n ? s->hash[2 + hash % n] : 0; i; i = s->hash[2 + n + i])
        if (defines(s, &s->table[i], name))
            return &s->table[i];
    return NULL;
}

/* The loader's own variable, which is there without being linked with. */
#pragma weak _r_debug

static void *find_between(const struct link_map *m, const struct link_map *end, const char *name) {
    for (; m && m != end; m = m->l_next) {
        struct symbols s;
        const ElfW(Sym) *sym = NULL;
        if (open_symbols(m, &s))
            sym = s.gnu_hash ? find_by_gnu_hash(&s, name) : find_by_hash(&s, name);
        if (!sym)
            continue;
        uintptr_t at = m->l_addr + sym->st_value;
        return ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC ? ((void *(*)(void))at)() : (void *)at;
    }
    return NULL;
}

static const struct link_map *first(void) {
    return &_r_debug ? _r_debug.r_map : NULL;
}

static const struct link_map *ourselves(void) {
    const struct link_map *m = first();
    while (m && m->l_ld != _DYNAMIC)
        m = m->l_next;
    return m;
}

void *symbol_find(const char *name) {
    return find_between(first(), NULL, name);
}

void *symbol_find_before(const char *name) {
    return find_between(first(), ourselves(), name);
}

void *symbol_find_next(const char *name) {
    const struct link_map *m = ourselves();
    return m ? find_between(m->l_next, NULL, name) : dlsym(RTLD_NEXT, name); /* musl's loader has no such list */
}

int symbol_any_object(int (*is)(const char *path)) {
    for (const struct link_map *m = first(); m; m = m->l_next)
        if (m->l_name && is(m->l_name))
            return 1;
    return 0;
}
