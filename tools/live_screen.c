/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/live_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t is_open, resized;
static size_t rows, columns, lines; /* lines: of the picture so far */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};

static void send(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        return;
}

static void set_up(void) {
    struct termios raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    send(ENTER);
    is_open = 1;
}

static void put_back(void) {
    if (!is_open)
        return;
    is_open = 0;
    send(LEAVE);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static void on_end(int number) {
    put_back();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_stop(int number) {
    int saved = errno;
    sigset_t set;
    put_back();
    signal(number, SIG_DFL);
    raise(number);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    /* Stopped here. */
    signal(number, on_stop);
    set_up();
    resized = 1;
    errno = saved;
}

static void on_resize(int number) {
    (void)number;
    resized = 1;
}

static void catch (int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler}, now;
    /* What is ignored stays so (nohup). */
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

bool screen_open(void) {
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    atexit(put_back);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        catch (ending[i], on_end);
    catch (SIGTSTP, on_stop);
    signal(SIGWINCH, on_resize);
    set_up();
    return true;
}

void screen_close(void) {
    put_back();
}

void screen_size(size_t *row_count, size_t *column_count) {
    struct winsize size;
    *row_count = 24;
    *column_count = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        *row_count = size.ws_row;
        *column_count = size.ws_col;
    }
}

void screen_begin(void) {
    screen_size(&rows, &columns);
    lines = 0;
    fputs("\033[H", stdout);
}

/* Bytes of `text` that take at most `width` columns, if each character takes one. */
static size_t cut(const char *text, size_t width) {
    size_t at = 0, taken = 0;
    for (; text[at]; at++) {
        bool starts = ((unsigned char)text[at] & 0xc0) != 0x80;
        if (starts && taken++ == width)
            break;
    }
    return at;
}

void screen_line(const char *text, bool reversed) {
    if (lines >= rows)
        return;
    printf("%s%s%.*s%s\033[K", lines > 0 ? "\r\n" : "", reversed ? "\033[7m" : "", (int)cut(text, columns), text,
           reversed ? "\033[0m" : "");
    lines++;
}

void screen_end(void) {
    fputs("\033[J", stdout);
    fflush(stdout);
}

static int read_key(void) {
    static const struct {
        const char *text;
        int key;
    } keys[] = {{"[A", SCREEN_UP},       {"[B", SCREEN_DOWN},       {"OA", SCREEN_UP},   {"OB", SCREEN_DOWN},
                {"[5~", SCREEN_PAGE_UP}, {"[6~", SCREEN_PAGE_DOWN}, {"[H", SCREEN_HOME}, {"[F", SCREEN_END},
                {"[1~", SCREEN_HOME},    {"[4~", SCREEN_END}};
    char text[16];
    ssize_t n = read(STDIN_FILENO, text, sizeof text - 1);
    if (n == 0)
        return SCREEN_CLOSED;
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? SCREEN_NONE : SCREEN_CLOSED;
    text[n] = '\0';
    if (text[0] != '\033')
        return (unsigned char)text[0];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(text + 1, keys[i].text) == 0)
            return keys[i].key;
    return SCREEN_NONE;
}

int screen_key(double seconds) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        double left = seconds - (double)(now.tv_sec - start.tv_sec) - (double)(now.tv_nsec - start.tv_nsec) / 1e9;
        if (resized) {
            resized = 0;
            return SCREEN_RESIZED;
        }
        if (left <= 0)
            return SCREEN_NONE;
        int rc = poll(&input, 1, left > 3600 ? 3600000 : (int)(left * 1000) + 1);
        if (rc > 0) {
            int key = read_key();
            if (key != SCREEN_NONE)
                return key;
        } else if (rc < 0 && errno != EINTR) {
            return SCREEN_CLOSED;
        }
    }
}
