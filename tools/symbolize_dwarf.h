/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, inlined calls and lines from DWARF.
 *
 * Model:   one table of address ranges says which unit an address is in; of a unit that is asked for, another says
 *          which function. Both are made once, and nothing is read of the units that no address lies in but their head.
 */
#ifndef CPROF_TOOLS_SYMBOLIZE_DWARF_H
#define CPROF_TOOLS_SYMBOLIZE_DWARF_H

#include "tools/symbolize_scope.h"

#include <elfutils/libdw.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function at an address. Texts belong to the Dwarf, may be NULL, and are never empty. */
struct dwarf_frame {
    const char *name;    /* as in the source */
    const char *linkage; /* as the linker knows it, if that differs */
    const char *whole;   /* without a linkage name: with the scopes around it, if there are any */
    const char *file;
    int line; /* 0: not known */
    int column;
    int start_line; /* where the function begins in `file` */
    uint64_t entry; /* its first address if it is not inlined */
};

/* Most functions inlined into each other at one address. */
#define DWARF_FRAMES_MAX 64u

struct dwarf_range {
    uint64_t low, high;
    uint64_t beyond; /* the highest `high` of this and all before it */
    uint64_t of;     /* a unit's index, or a function's offset in the DWARF */
};

struct dwarf_ranges {
    struct dwarf_range *at;
    size_t count;
    size_t capacity;
};

struct dwarf_unit {
    Dwarf_Die head;  /* where its lines are */
    Dwarf_Die body;  /* where its functions are: the same, unless the DWARF is split */
    bool lacks_body; /* it is split, and the other part can't be read: its lines are all there is */
    bool missed;     /* that, and an address in it was asked for */
    struct dwarf_ranges functions;
    bool listed;   /* functions outside of other functions and types */
    bool searched; /* all of them */
};

struct dwarf_index {
    Dwarf *dwarf;
    struct dwarf_unit *units;
    size_t unit_count, unit_room;
    Dwarf_Aranges *aranges; /* the file's own table of units, if it has one */
    bool aranges_read;
    bool complete; /* the heads of all units have been read */
    struct dwarf_ranges ranges;
    struct scope_names scopes;
    size_t missed; /* units whose functions were asked for, and can't be read */
};

/* Units of a split DWARF whose .dwo can't be read; of those in a .dwp none can. */
size_t dwarf_bodies_missing(Dwarf *dwarf);

/* Why so many of the file at `path` can't be. */
#define DWARF_MISSING_MAX 100u
const char *dwarf_explain_missing(size_t count, const char *path, char text[DWARF_MISSING_MAX]);

/* Nothing is read yet. */
void dwarf_index_init(struct dwarf_index *index, Dwarf *dwarf);

/* Fills `frames` with the functions at an address (as in the DWARF), the innermost first, and returns their number.
 * The last may have no name: then only its line is known. 0: the DWARF knows nothing of the address. -ENOMEM. */
int dwarf_index_find(struct dwarf_index *index, uint64_t address, struct dwarf_frame frames[DWARF_FRAMES_MAX]);

void dwarf_index_release(struct dwarf_index *index);

#endif
