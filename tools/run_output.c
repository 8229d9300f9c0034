/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/run_output.h"

#include "preload/record/name.h"
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".pb.gz"

/* Then only the library knows what it will be called. */
static bool has_conversion(const char *template) {
    for (const char *at = template; (at = strchr(at, '%')); at++)
        if (at[1] != '\0' && strchr(NAME_SEQUENCES, at[1]))
            return true;
    return false;
}

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Every conversion stands for anything, and so does what the library may insert before the suffix. */
static void add_template(FILE *pattern, const char *template) {
    size_t len = strlen(template), suffix = strlen(SUFFIX);
    size_t insertion = len > suffix && strcmp(template + len - suffix, SUFFIX) == 0 ? len - suffix : len;
    for (size_t i = 0; i <= len; i++) {
        if (i == insertion)
            fputc('*', pattern);
        if (i == len)
            break;
        if (template[i] == '%' && i + 1 < len && template[i + 1] != '%' && strchr(NAME_SEQUENCES, template[i + 1])) {
            fputc('*', pattern);
            i++;
            continue;
        }
        i += template[i] == '%' && template[i + 1] == '%';
        if (strchr("*?[]\\", template[i]))
            fputc('\\', pattern);
        fputc(template[i], pattern);
    }
}

static void add_directory(FILE *pattern) {
    char *here = getcwd(NULL, 0);
    for (const char *at = here ? here : ""; *at; at++)
        fprintf(pattern, strchr("*?[]\\", *at) ? "\\%c" : "%c", *at);
    fputc('/', pattern);
    free(here);
}

char *run_output_pattern(const char *template) {
    char *text;
    size_t len;
    FILE *pattern = open_memstream(&text, &len);
    if (!pattern)
        return NULL;
    if (template[0] != '/')
        add_directory(pattern);
    add_template(pattern, template);
    if (fclose(pattern) == 0)
        return text;
    free(text);
    return NULL;
}

/* Why no file can be made in the directory: an errno, or 0. */
static int directory_fault(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* The same where the directory's name has to be filled in first: any that fits will do. */
static int any_directory_fault(const char *template) {
    char *pattern = run_output_pattern(template);
    glob_t found;
    int fault = ENOENT;
    if (pattern)
        strcpy(strrchr(pattern, '/') + 1, "."); /* in place of the file's name, a * at least */
    if (pattern && glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && fault != 0; i++)
            fault = directory_fault(found.gl_pathv[i]);
        globfree(&found);
    }
    free(pattern);
    return fault;
}

int run_output_fault(const char *template, char place[PATH_MAX]) {
    struct stat st;
    const char *slash = strrchr(template, '/');
    int len = !slash ? 1 : slash == template ? 1 : (int)(slash - template);
    snprintf(place, PATH_MAX, "%.*s", len, slash ? template : ".");
    if (!has_conversion(template) && stat(template, &st) == 0 && !S_ISREG(st.st_mode)) {
        /* A pipe or a device is written to as it is. */
        snprintf(place, PATH_MAX, "%s", template);
        return S_ISDIR(st.st_mode) ? EISDIR : faccessat(AT_FDCWD, template, W_OK, AT_EACCESS) == 0 ? 0 : errno;
    }
    return has_conversion(place) ? any_directory_fault(template) : directory_fault(place);
}

static char *joined(const char *directory, const char *separator) {
    char *template;
    return asprintf(&template, "%s%s%s", directory, separator, NAME_USUAL) < 0 ? NULL : template;
}

/* With no conversion in this much of it. */
static void put_literally(FILE *stream, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        fprintf(stream, text[i] == '%' ? "%%%%" : "%c", text[i]);
}

/* The name of the directory we are in, and the first `literal` bytes of the template, hold no conversion. A directory that has no
 * name any more is left to the library. */
static char *absolute(const char *template, size_t literal) {
    char *here = template[0] == '/' ? NULL : getcwd(NULL, 0), *text = NULL;
    size_t len;
    FILE *stream = open_memstream(&text, &len);
    if (stream) {
        put_literally(stream, here ? here : "", here ? strlen(here) : 0);
        fputs(here ? "/" : "", stream);
        put_literally(stream, template, literal);
        fputs(template + literal, stream);
    }
    free(here);
    if (stream && fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

/* What `output` stands for; *literal: bytes at its start that hold no conversion. */
static char *named(const char *output, size_t *literal) {
    *literal = 0;
    if (!output || !output[0])
        return strdup(NAME_USUAL);
    if (output[strlen(output) - 1] == '/')
        return joined(output, "");
    if (has_conversion(output) || !is_directory(output))
        return strdup(output);
    *literal = strlen(output);
    return joined(output, "/");
}

char *run_output_template(const char *option, const char *output) {
    char *result = NULL, place[PATH_MAX];
    size_t literal;
    char *template = named(output, &literal);
    int fault = template ? run_output_fault(template, place) : 0;
    if (fault != 0)
        tool_error(option, "no profile can be written to %s: %s", place, strerror(fault));
    else if (!template || !(result = absolute(template, literal)))
        tool_error("run", "out of memory");
    free(template);
    return result;
}
