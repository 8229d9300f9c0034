/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on every file of the corpus, or on those given, without libFuzzer; prints TAP. */
#include "tests/unit/tap.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES (1u << 20)

static void replay(const char *path) {
    uint8_t *bytes = malloc(MOST_BYTES);
    FILE *file = bytes ? fopen(path, "rb") : NULL;
    size_t size = file ? fread(bytes, 1, MOST_BYTES, file) : 0;
    if (file)
        fclose(file);
    /* As long as the input and no longer, so that the sanitizer sees what reads on. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (file && exact) {
        memcpy(exact, bytes, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    ok(file && exact, "%s, %zu bytes", path, size);
    free(exact);
    free(bytes);
}

int main(int argc, char **argv) {
    static const char corpus[] = "tests/fuzz/corpus";
    if (argc > 1) {
        for (int i = 1; i < argc; i++)
            replay(argv[i]);
        return tap_done();
    }
    DIR *directory = opendir(corpus);
    size_t count = 0;
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[512];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", corpus, entry->d_name);
        replay(path);
        count++;
    }
    if (directory)
        closedir(directory);
    ok(count >= 10, "there is a corpus: %zu files", count);
    return tap_done();
}
