/* SPDX-License-Identifier: Apache-2.0 */
/* A program that needs memory: allocates COUNT blocks of SIZE bytes, keeps them, and says how many it got, and how much address
 * space it has in use before that, in KiB.
 *
 *     starve COUNT SIZE */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noipa)) static int have(size_t size) {
    char *p = malloc(size);
    if (p)
        *p = 1;
    return p != NULL;
}

static unsigned long in_use(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * 4;
}

int main(int argc, char **argv) {
    char line[64];
    if (argc < 3)
        return 2;
    unsigned long got = 0, before = in_use();
    size_t size = strtoul(argv[2], NULL, 10);
    for (long i = strtol(argv[1], NULL, 10); i > 0; i--)
        got += (unsigned long)have(size);
    int len = snprintf(line, sizeof line, "%lu %lu\n", got, before);
    return write(1, line, (size_t)len) == len ? 0 : 1;
}
