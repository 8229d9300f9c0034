/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: libraries loaded by libc itself (name service, character sets)
 * Symptom: getaddrinfo, getpwnam and iconv load libraries behind the program's back, and allocate while the loader is
 *     at work
 * Right: exit 0, stdout "ok": users, hosts, services and conversions are looked up, in two threads at a time; what the
 *     program frees is balanced.
 *
 * BUILD $CC -pthread $SRC -o $BIN
 * EXPECT timeout 20
 * EXPECT under by_iconv 20..4000 * 0..4000 *
 * EXPECT under by_getaddrinfo 20..40000 * 0..40000 *
 */
#include "tests/corpus/case.h"

#include <iconv.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

NOINLINE static int by_iconv(void) {
    iconv_t cd = iconv_open("UTF-16LE", "ISO-8859-15");
    char in[] = "text", out[64], *from = in, *to = out;
    size_t left = 4, room = sizeof out;
    if (cd == (iconv_t)-1)
        return 1;
    int bad = iconv(cd, &from, &left, &to, &room) == (size_t)-1 || room != sizeof out - 8;
    iconv_close(cd);
    return bad;
}

NOINLINE static int by_getaddrinfo(void) {
    struct addrinfo *list, hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    if (getaddrinfo("127.0.0.1", "80", &hints, &list))
        return 1;
    freeaddrinfo(list);
    return 0;
}

static void *run(void *arg) {
    for (int i = 0; i < 10; i++) {
        char buf[4096];
        struct passwd pw, *found;
        if (by_iconv())
            return (void *)1;
        if (by_getaddrinfo())
            return (void *)2;
        if (getpwnam_r("root", &pw, buf, sizeof buf, &found) || !found || found->pw_uid != 0)
            return (void *)3;
    }
    return arg;
}

int main(void) {
    pthread_t t[2];
    void *result;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i], &result);
        if (result)
            return (int)(long)result;
    }
    return say_ok();
}
