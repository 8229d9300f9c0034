/* SPDX-License-Identifier: Apache-2.0 */
/* Entries have no pointers to their parents, but lie in the file in the order of the tree: so the way to one leads,
 * from the unit's, always to the last child that does not begin behind it. */
#include "tools/symbolize_scope.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_MAX 100
#define NAME_MAX_BYTES 4096u

/* The entry that says where a function is declared. */
static Dwarf_Die declaration(const Dwarf_Die *die) {
    Dwarf_Die at = *die, next;
    Dwarf_Attribute attribute;
    for (int i = 0; i < NESTING_MAX; i++) {
        if (!dwarf_formref_die(dwarf_attr(&at, DW_AT_abstract_origin, &attribute), &next) &&
            !dwarf_formref_die(dwarf_attr(&at, DW_AT_specification, &attribute), &next))
            break;
        at = next;
    }
    return at;
}

static bool add_scopes(char *text, size_t *len, Dwarf_Die *die, int nesting);

/* Appends one scope's name and "::". False if there is no room. */
static bool add_scope(char *text, size_t *len, Dwarf_Die *die, int nesting) {
    int tag = dwarf_tag(die);
    Dwarf_Die declared = *die;
    if (tag == DW_TAG_subprogram) {
        /* What is around a function is what is around its declaration, which can be anywhere. */
        declared = declaration(die);
        if (declared.addr != die->addr) {
            *len = 0;
            if (!add_scopes(text, len, &declared, nesting))
                return false;
        }
    } else if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type &&
               tag != DW_TAG_union_type && tag != DW_TAG_enumeration_type && tag != DW_TAG_module) {
        return true;
    }
    const char *name = dwarf_diename(&declared);
    if (!name || !*name)
        name = tag == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed}";
    /* As the type of a lambda is called by gcc: not arguments of a template. */
    bool lambda = strncmp(name, "<lambda", 7) == 0;
    size_t part = strlen(name);
    if (*len + part + 3 > NAME_MAX_BYTES)
        return false;
    memcpy(text + *len, name, part);
    if (lambda) {
        text[*len] = '{';
        text[*len + part - 1] = '}';
    }
    memcpy(text + *len + part, "::", 3);
    *len += part + 2;
    return true;
}

/* Goes from the unit to the entry, adding up names. False if the way is lost. */
static bool add_scopes(char *text, size_t *len, Dwarf_Die *die, int nesting) {
    Dwarf_Off wanted = dwarf_dieoffset(die);
    Dwarf_Die at, child, next;
    if (!dwarf_cu_die(die->cu, &at, NULL, NULL, NULL, NULL, NULL, NULL))
        return false;
    while (nesting++ < NESTING_MAX) {
        if (dwarf_child(&at, &child) != 0)
            return false;
        while (dwarf_siblingof(&child, &next) == 0 && dwarf_dieoffset(&next) <= wanted)
            child = next;
        if (dwarf_dieoffset(&child) == wanted)
            return true;
        if (!add_scope(text, len, &child, nesting))
            return false;
        at = child;
    }
    return false;
}

static char *whole_name(Dwarf_Die *die) {
    char text[2 * NAME_MAX_BYTES];
    size_t len = 0;
    Dwarf_Die declared = declaration(die);
    const char *name = dwarf_diename(&declared);
    if (!name || !*name || !add_scopes(text, &len, &declared, 0) || len == 0)
        return NULL;
    size_t part = strlen(name);
    if (part >= NAME_MAX_BYTES)
        return NULL;
    /* A type without a name that can be called is a lambda's. */
    static const char unnamed[] = "{unnamed}::", lambda[] = "{lambda}::";
    if (strcmp(name, "operator()") == 0 && len >= sizeof unnamed - 1 &&
        memcmp(text + len - (sizeof unnamed - 1), unnamed, sizeof unnamed - 1) == 0) {
        len -= sizeof unnamed - 1;
        memcpy(text + len, lambda, sizeof lambda - 1);
        len += sizeof lambda - 1;
    }
    memcpy(text + len, name, part + 1);
    return strdup(text);
}

static struct scope_name *slot_for(const struct scope_names *names, const void *die) {
    size_t at = ((uintptr_t)die * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & (names->size - 1);
    while (names->slots[at].die && names->slots[at].die != die)
        at = (at + 1) & (names->size - 1);
    return &names->slots[at];
}

static bool make_room(struct scope_names *names) {
    if (2 * names->used < names->size)
        return true;
    struct scope_names larger = {.size = names->size ? 2 * names->size : 256, .used = names->used};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < names->size; i++)
        if (names->slots[i].die)
            *slot_for(&larger, names->slots[i].die) = names->slots[i];
    free(names->slots);
    *names = larger;
    return true;
}

const char *scope_names_of(struct scope_names *names, Dwarf_Die *die) {
    Dwarf_Die declared = declaration(die);
    if (!make_room(names))
        return NULL;
    struct scope_name *slot = slot_for(names, declared.addr);
    if (!slot->die) {
        *slot = (struct scope_name){.die = declared.addr, .name = whole_name(&declared)};
        names->used++;
    }
    return slot->name;
}

void scope_names_release(struct scope_names *names) {
    for (size_t i = 0; i < names->size; i++)
        free(names->slots[i].name);
    free(names->slots);
    *names = (struct scope_names){0};
}
