/* SPDX-License-Identifier: Apache-2.0 */
/* Why not dwfl_module_addrdie(): it relies on .debug_aranges, which clang leaves out. Why not dwarf_getscopes(): it
 * walks the unit from its beginning for each address. */
#include "tools/symbolize_dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NESTING_MAX 100 /* of entries in each other; more is nonsense */

/* ---- Ranges ---- */

static int add_range(struct dwarf_ranges *ranges, uint64_t low, uint64_t high, uint64_t of) {
    if (low >= high)
        return 0;
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? 2 * ranges->capacity : 64;
        void *at = realloc(ranges->at, capacity * sizeof *ranges->at);
        if (!at)
            return -ENOMEM;
        ranges->at = at;
        ranges->capacity = capacity;
    }
    ranges->at[ranges->count++] = (struct dwarf_range){.low = low, .high = high, .of = of};
    return 0;
}

/* Adds all ranges of an entry. Code that the linker threw away begins at 0, 1 or the very end. */
static int add_ranges(struct dwarf_ranges *ranges, Dwarf_Die *die, uint64_t of) {
    Dwarf_Addr base, low, high;
    ptrdiff_t next = 0;
    while ((next = dwarf_ranges(die, next, &base, &low, &high)) > 0)
        if (low > 1 && add_range(ranges, low, high, of) != 0)
            return -ENOMEM;
    return 0;
}

static int compare(const void *left, const void *right) {
    const struct dwarf_range *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    /* The wider one first, so that going back meets the narrower one first. */
    if (a->high != b->high)
        return a->high > b->high ? -1 : 1;
    return a->of < b->of ? -1 : a->of > b->of;
}

static void sort_ranges(struct dwarf_ranges *ranges) {
    uint64_t beyond = 0;
    if (ranges->count > 0)
        qsort(ranges->at, ranges->count, sizeof *ranges->at, compare);
    for (size_t i = 0; i < ranges->count; i++) {
        if (ranges->at[i].high > beyond)
            beyond = ranges->at[i].high;
        ranges->at[i].beyond = beyond;
    }
}

static const struct dwarf_range *find_range(const struct dwarf_ranges *ranges, uint64_t address) {
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->at[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0 && ranges->at[i].beyond > address;)
        if (address < ranges->at[i].high)
            return &ranges->at[i];
    return NULL;
}

/* ---- Units ---- */

static struct dwarf_unit *add_unit(struct dwarf_index *index, const struct dwarf_unit *unit) {
    if (index->unit_count == index->unit_room) {
        size_t more = index->unit_room ? 2 * index->unit_room : 64;
        void *units = realloc(index->units, more * sizeof *index->units);
        if (!units)
            return NULL;
        index->units = units;
        index->unit_room = more;
    }
    struct dwarf_unit *added = &index->units[index->unit_count++];
    *added = *unit;
    return added;
}

void dwarf_index_init(struct dwarf_index *index, Dwarf *dwarf) {
    *index = (struct dwarf_index){.dwarf = dwarf};
}

static bool lacks_body(const Dwarf_Die *body, uint8_t type) {
    return type == DW_UT_skeleton && !body->addr;
}

/* Where functions are: in the unit itself, unless the DWARF is split. False if there are none. */
static bool set_body(struct dwarf_unit *unit, uint8_t type) {
    if (type != DW_UT_compile && type != DW_UT_skeleton)
        return false;
    unit->lacks_body = lacks_body(&unit->body, type);
    if (type != DW_UT_skeleton || unit->lacks_body)
        unit->body = unit->head;
    return true;
}

size_t dwarf_bodies_missing(Dwarf *dwarf) {
    Dwarf_CU *cu = NULL;
    Dwarf_Die head, body;
    uint8_t type;
    size_t count = 0;
    while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &head, &body) == 0)
        count += lacks_body(&body, type);
    return count;
}

const char *dwarf_explain_missing(size_t count, const char *path, char text[DWARF_MISSING_MAX]) {
    char package[PATH_MAX];
    int len = snprintf(package, sizeof package, "%s.dwp", path);
    if (len > 0 && (size_t)len < sizeof package && access(package, F_OK) == 0)
        return "its debug information is in a .dwp, which is not read";
    snprintf(text, DWARF_MISSING_MAX, "its debug information is in %zu .dwo file%s that can't be read", count,
             count == 1 ? "" : "s");
    return text;
}

static int read_all_units(struct dwarf_index *index) {
    Dwarf_CU *cu = NULL;
    uint8_t type;
    struct dwarf_unit unit = {0};

    index->complete = true;
    while (dwarf_get_units(index->dwarf, cu, &cu, NULL, &type, &unit.head, &unit.body) == 0) {
        if (!set_body(&unit, type))
            continue;
        struct dwarf_unit *added = add_unit(index, &unit);
        if (!added || add_ranges(&index->ranges, &added->head, (uint64_t)(added - index->units)) != 0)
            return -ENOMEM;
    }
    sort_ranges(&index->ranges);
    return 0;
}

/* The unit that the file's own table has for an address, NULL if it has none: then there is no need to read the heads of
 * all of them, which takes a while if there are thousands and few addresses. */
static struct dwarf_unit *tabled_unit(struct dwarf_index *index, uint64_t address) {
    struct dwarf_unit unit = {0};
    Dwarf_Off offset;
    size_t count;
    uint8_t type;
    if (!index->aranges_read && dwarf_getaranges(index->dwarf, &index->aranges, &count) != 0)
        index->aranges = NULL;
    index->aranges_read = true;
    Dwarf_Arange *range = index->aranges ? dwarf_getarange_addr(index->aranges, address) : NULL;
    if (!range || dwarf_getarangeinfo(range, NULL, NULL, &offset) != 0 ||
        !dwarf_offdie(index->dwarf, offset, &unit.head))
        return NULL;
    /* Addresses come in order, so it is mostly the last one. */
    for (size_t i = index->unit_count; i-- > 0;)
        if (index->units[i].head.addr == unit.head.addr)
            return &index->units[i];
    if (dwarf_cu_info(unit.head.cu, NULL, &type, NULL, &unit.body, NULL, NULL, NULL) != 0 || !set_body(&unit, type))
        return NULL;
    return add_unit(index, &unit);
}

void dwarf_index_release(struct dwarf_index *index) {
    for (size_t i = 0; i < index->unit_count; i++)
        free(index->units[i].functions.at);
    scope_names_release(&index->scopes);
    free(index->units);
    free(index->ranges.at);
    *index = (struct dwarf_index){0};
}

/* ---- Functions ---- */

static int list_functions(struct dwarf_ranges *functions, Dwarf_Die *parent, bool everywhere, int nesting) {
    Dwarf_Die die;
    if (nesting > NESTING_MAX || dwarf_child(parent, &die) != 0)
        return 0;
    do {
        int tag = dwarf_tag(&die);
        int rc = tag == DW_TAG_subprogram ? add_ranges(functions, &die, dwarf_dieoffset(&die)) : 0;
        if (rc == 0 && (everywhere || tag == DW_TAG_namespace || tag == DW_TAG_module))
            rc = list_functions(functions, &die, everywhere, nesting + 1);
        if (rc != 0)
            return rc;
    } while (dwarf_siblingof(&die, &die) == 0);
    return 0;
}

static int list_again(struct dwarf_unit *unit, bool everywhere) {
    unit->functions.count = 0;
    int rc = list_functions(&unit->functions, &unit->body, everywhere, 0);
    sort_ranges(&unit->functions);
    return rc;
}

/* Most units have all their functions where they are quickly found; only if one is missing all entries are gone
 * through. */
static int find_function(struct dwarf_unit *unit, uint64_t address, const struct dwarf_range **found) {
    int rc = 0;
    if (!unit->listed) {
        rc = list_again(unit, false);
        unit->listed = true;
    }
    *found = find_range(&unit->functions, address);
    if (rc == 0 && !*found && !unit->searched) {
        rc = list_again(unit, true);
        unit->searched = true;
        *found = find_range(&unit->functions, address);
    }
    return rc;
}

/* The unit that an address is in, NULL if there is none, and the function, NULL likewise. */
static int find_unit(struct dwarf_index *index, uint64_t address, struct dwarf_unit **unit,
                     const struct dwarf_range **function) {
    *unit = index->complete ? NULL : tabled_unit(index, address);
    *function = NULL;
    int rc = *unit ? find_function(*unit, address, function) : 0;
    if (rc != 0 || *function)
        return rc;
    /* The table need not be whole, nor right. */
    if (!index->complete)
        rc = read_all_units(index);
    const struct dwarf_range *found = rc == 0 ? find_range(&index->ranges, address) : NULL;
    *unit = found ? &index->units[found->of] : NULL;
    return *unit ? find_function(*unit, address, function) : rc;
}

/* The function and those inlined into it at the address, the outermost first. */
static size_t inlined_chain(Dwarf_Die *function, uint64_t address, Dwarf_Die chain[DWARF_FRAMES_MAX]) {
    size_t count = 1;
    Dwarf_Die at = *function, die;
    chain[0] = *function;
    for (int nesting = 0; nesting < NESTING_MAX && count < DWARF_FRAMES_MAX; nesting++) {
        int tag = DW_TAG_invalid;
        if (dwarf_child(&at, &die) != 0)
            break;
        do {
            tag = dwarf_tag(&die);
            if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                 tag == DW_TAG_catch_block) &&
                dwarf_haspc(&die, address) == 1)
                break;
            tag = DW_TAG_invalid;
        } while (dwarf_siblingof(&die, &die) == 0);
        if (tag == DW_TAG_invalid)
            break;
        if (tag == DW_TAG_inlined_subroutine)
            chain[count++] = die;
        at = die;
    }
    return count;
}

/* ---- What is known of a function ---- */

static const char *text_of(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    const char *text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
    return text && *text ? text : NULL;
}

static int number_of(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &value) != 0 || value > INT32_MAX)
        return 0;
    return (int)value;
}

static void name_function(struct dwarf_index *index, Dwarf_Die *die, struct dwarf_frame *frame) {
    frame->name = text_of(die, DW_AT_name);
    frame->linkage = text_of(die, DW_AT_linkage_name);
    if (!frame->linkage)
        frame->linkage = text_of(die, DW_AT_MIPS_linkage_name);
    if (!frame->name)
        frame->name = frame->linkage;
    if (!frame->linkage && frame->name)
        frame->whole = scope_names_of(&index->scopes, die);
}

/* A source file by its number in a unit's table; NULL if there is none. */
static const char *file_of(Dwarf_Die *unit, Dwarf_Word number) {
    Dwarf_Files *files;
    size_t count;
    if (dwarf_getsrcfiles(unit, &files, &count) != 0 || number >= count)
        return NULL;
    const char *path = dwarf_filesrc(files, (size_t)number, NULL, NULL);
    return path && *path ? path : NULL;
}

/* Not dwarf_decl_file(): it ends the process where it can't find a table of files. */
static const char *declared_in(Dwarf_Die *die, Dwarf_Die *unit) {
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Die other;
    if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), &number) != 0)
        return NULL;
    /* What was inlined from another unit is numbered by that unit's table. */
    if (attribute.cu != die->cu && dwarf_cu_die(attribute.cu, &other, NULL, NULL, NULL, NULL, NULL, NULL))
        unit = &other;
    return file_of(unit, number);
}

static void begin_function(Dwarf_Die *die, Dwarf_Die *unit, struct dwarf_frame *frame) {
    const char *file = declared_in(die, unit);
    frame->start_line = number_of(die, DW_AT_decl_line);
    if (!frame->file)
        frame->file = file;
    else if (!file || strcmp(file, frame->file) != 0)
        frame->start_line = 0;
}

static void locate_call(Dwarf_Die *inlined, Dwarf_Die *unit, struct dwarf_frame *caller) {
    caller->file = file_of(unit, (Dwarf_Word)number_of(inlined, DW_AT_call_file));
    caller->line = number_of(inlined, DW_AT_call_line);
    caller->column = number_of(inlined, DW_AT_call_column);
}

static void locate(Dwarf_Die *unit, uint64_t address, struct dwarf_frame *frame) {
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (!path || !*path)
        return;
    frame->file = path;
    if (dwarf_lineno(line, &frame->line) != 0 || frame->line < 0)
        frame->line = 0;
    if (dwarf_linecol(line, &frame->column) != 0 || frame->column < 0)
        frame->column = 0;
}

int dwarf_index_find(struct dwarf_index *index, uint64_t address, struct dwarf_frame frames[DWARF_FRAMES_MAX]) {
    Dwarf_Die chain[DWARF_FRAMES_MAX];
    Dwarf_Die function;
    const struct dwarf_range *in_function;
    struct dwarf_unit *unit;
    int rc = find_unit(index, address, &unit, &in_function);
    if (rc != 0 || !unit)
        return rc;
    if (unit->lacks_body && !unit->missed) {
        unit->missed = true;
        index->missed++;
    }

    size_t count = 0;
    /* Offsets of split DWARF are of the .dwo's own. */
    if (in_function && dwarf_offdie(dwarf_cu_getdwarf(unit->body.cu), in_function->of, &function))
        count = inlined_chain(&function, address, chain);
    for (size_t i = 0; i < (count > 0 ? count : 1); i++)
        frames[i] = (struct dwarf_frame){0};
    locate(&unit->head, address, &frames[0]);
    if (count == 0)
        return frames[0].file ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Die *die = &chain[count - 1 - i];
        if (i > 0)
            locate_call(&chain[count - i], &unit->head, &frames[i]);
        name_function(index, die, &frames[i]);
        begin_function(die, &unit->head, &frames[i]);
    }
    if (dwarf_entrypc(&function, &frames[count - 1].entry) != 0)
        frames[count - 1].entry = 0;
    return (int)count;
}
