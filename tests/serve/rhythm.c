/* SPDX-License-Identifier: Apache-2.0 */
/* A process that lives, with a known truth. It prints "ready", and then does what it is told, line by line:
 *
 *     keep N BYTES    allocates N blocks and keeps them
 *     pass N BYTES    allocates N blocks and frees them
 *     drop N          frees the N blocks kept last
 *     branch N        keeps N blocks of 32 bytes, each allocated by another stack
 *     beat SECONDS    allocates, keeps and frees by turns, so that there is something to see
 *     end
 *
 * and prints "done" after each. What keep() and pass() ask for is all that they are told; lines of input come in by
 * read(2), and what is printed goes out by write(2). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SITE __attribute__((noipa)) static
#define KEPT_MAX 1000000

static void *kept[KEPT_MAX];
static size_t kept_count;

SITE void keep(long n, size_t bytes) {
    for (long i = 0; i < n && kept_count < KEPT_MAX; i++)
        kept[kept_count++] = malloc(bytes);
}

SITE void pass(long n, size_t bytes) {
    for (long i = 0; i < n; i++) {
        void *p = malloc(bytes);
        __asm__ volatile("" : : "r"(p) : "memory");
        free(p);
    }
}

SITE void drop(long n) {
    for (long i = 0; i < n && kept_count > 0; i++)
        free(kept[--kept_count]);
}

SITE void left(long path, int depth);

SITE void right(long path, int depth) {
    if (depth == 0)
        keep(1, 32);
    else if (path & 1)
        right(path >> 1, depth - 1);
    else
        left(path >> 1, depth - 1);
    __asm__ volatile("" : : : "memory"); /* calls, not jumps */
}

SITE void left(long path, int depth) {
    right(path, depth);
    __asm__ volatile("" : : : "memory");
}

SITE void branch(long n) {
    for (long i = 0; i < n; i++)
        right(i, 20);
}

SITE void parse_request(int round) {
    keep(40, 700);
    pass(200, 96 + 16 * (size_t)(round % 4));
}

SITE void fill_cache(int round) {
    keep(10 + round % 7, 4096);
}

SITE void answer_request(int round) {
    pass(300, 2048);
    if (round % 40 == 39)
        drop(1600);
}

SITE void beat(double seconds) {
    struct timespec pause = {0, 25000000};
    for (int round = 0; round < (int)(seconds / 0.025); round++) {
        parse_request(round);
        fill_cache(round);
        answer_request(round);
        nanosleep(&pause, NULL);
    }
}

static int read_line(char *line, int size) {
    int len = 0;
    while (read(0, line + len, 1) == 1 && line[len] != '\n')
        if (len < size - 2)
            len++;
    line[len] = '\0';
    return len > 0;
}

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0)
        _exit(3);
}

int main(void) {
    char line[128];
    long n;
    size_t bytes;
    double seconds;
    say("ready\n");
    while (read_line(line, sizeof line) && strcmp(line, "end") != 0) {
        if (sscanf(line, "keep %ld %zu", &n, &bytes) == 2)
            keep(n, bytes);
        else if (sscanf(line, "pass %ld %zu", &n, &bytes) == 2)
            pass(n, bytes);
        else if (sscanf(line, "drop %ld", &n) == 1)
            drop(n);
        else if (sscanf(line, "branch %ld", &n) == 1)
            branch(n);
        else if (sscanf(line, "beat %lf", &seconds) == 1)
            beat(seconds);
        say("done\n");
    }
    return 0;
}
