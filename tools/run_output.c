/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/run_output.h"

#include "preload/intercept/accepts.h"
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Then only the library knows what it will be called. */
static bool has_conversion(const char *template) {
    for (const char *at = template; (at = strchr(at, '%')); at++)
        if (at[1] != '\0' && strchr("epnht%", at[1]))
            return true;
    return false;
}

static bool is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
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

static bool is_writable(const char *option, const char *template) {
    struct stat st;
    const char *slash = strrchr(template, '/');
    char *directory = !slash ? strdup(".") : strndup(template, slash == template ? 1 : (size_t)(slash - template));
    const char *what = directory;
    int fault;
    if (!directory) {
        fault = ENOMEM;
        what = template;
    } else if (has_conversion(directory)) {
        fault = 0;
    } else if (!has_conversion(template) && stat(template, &st) == 0 && !S_ISREG(st.st_mode)) {
        /* A pipe or a device is written to as it is. */
        what = template;
        fault = faccessat(AT_FDCWD, template, W_OK, AT_EACCESS) == 0 ? 0 : errno;
    } else {
        fault = directory_fault(directory);
    }
    if (fault != 0)
        tool_error(option, "no profile can be written to %s: %s", what, strerror(fault));
    free(directory);
    return fault == 0;
}

static char *joined(const char *directory, const char *separator) {
    char *template;
    return asprintf(&template, "%s%s%s", directory, separator, USUAL_OUT) < 0 ? NULL : template;
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

char *run_output_template(const char *option, const char *output) {
    char *template = NULL;
    bool literal = output && output[0] && !has_conversion(output) && is_directory(output);
    if (!output || !output[0])
        template = strdup(USUAL_OUT);
    else if (output[strlen(output) - 1] == '/')
        template = joined(output, "");
    else if (literal)
        template = joined(output, "/");
    else
        template = strdup(output);
    if (template && !is_writable(option, template)) {
        free(template);
        return NULL;
    }
    char *result = template ? absolute(template, literal ? strlen(output) : 0) : NULL;
    if (!result)
        tool_error("run", "out of memory");
    free(template);
    return result;
}
