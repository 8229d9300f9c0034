/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: coverage (allocations made inside libc for streams)
 * Symptom: a stream's buffers are allocated by one library and freed by another, or at exit after the books are closed
 * Right: exit 0, stdout "ok": fopencookie, open_memstream, fmemopen, tmpfile, getdelim, setvbuf, popen and fdopen; what
 *     is closed balances.
 *
 * EXPECT under by_cookie 20..2000 * 0 0
 * EXPECT under by_memstream 40..2000 * 0 0
 * EXPECT under by_getdelim 20..2000 * 0 0
 */
#include "tests/corpus/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t written;

static ssize_t count(void *cookie, const char *data, size_t n) {
    (void)data;
    *(size_t *)cookie += n;
    return (ssize_t)n;
}

NOINLINE static int by_cookie(void) {
    cookie_io_functions_t calls = {.write = count};
    FILE *f = fopencookie(&written, "w", calls);
    int ok = f && fprintf(f, "%01000d", 7) == 1000;
    return f && fclose(f) == 0 && ok ? 0 : 1;
}

NOINLINE static int by_memstream(void) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    for (int i = 0; f && i < 500; i++)
        fprintf(f, "%d ", i);
    int ok = f && fclose(f) == 0 && n == 1890;
    free(text);
    return ok ? 0 : 1;
}

NOINLINE static int by_getdelim(void) {
    static char words[] = "one;two;three and many more;";
    char *word = NULL;
    size_t room = 0;
    int n = 0;
    FILE *f = fmemopen(words, sizeof words - 1, "r");
    while (f && getdelim(&word, &room, ';', f) > 0)
        n++;
    free(word);
    return f && fclose(f) == 0 && n == 3 ? 0 : 1;
}

NOINLINE static int by_tmpfile(void) {
    static char buffer[100];
    FILE *f = tmpfile();
    int ok = f && setvbuf(f, buffer, _IOFBF, sizeof buffer) == 0 && fputs("text", f) >= 0;
    return f && fclose(f) == 0 && ok ? 0 : 1;
}

int main(void) {
    for (int i = 0; i < 20; i++)
        if (by_cookie() || by_memstream() || by_getdelim() || by_tmpfile())
            return 1;
    return written == 20000 ? say_ok() : 2;
}
