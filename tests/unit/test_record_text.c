/* SPDX-License-Identifier: Apache-2.0 */
/* Text in fixed buffers. */
#include <stdlib.h>

#include "preload/record/text.h"
#include "tests/unit/tap.h"

static void test_adding(void) {
    char buf[16];
    struct text t;
    text_init(&t, buf, sizeof buf);
    ok(!t.len && !buf[0] && !t.cut, "empty at first");
    text_add(&t, "abc");
    text_add(&t, "");
    text_add_bytes(&t, "defgh", 2);
    is_text(buf, "abcde", "pieces");
    text_add_number(&t, 0);
    text_add_number(&t, 42);
    is_text(buf, "abcde042", "numbers");
    text_add(&t, "1234567");
    is_text(buf, "abcde0421234567", "filled to the last byte");
    ok(t.len == 15 && !t.cut, "is not cut");
    text_add(&t, "");
    ok(!t.cut, "nor by nothing");
    text_add(&t, "x");
    is_text(buf, "abcde0421234567", "one more does not fit");
    ok(t.cut && t.len == 15, "and it is known");
}

/* The sanitizers watch the byte behind each block. */
static void test_rooms(void) {
    int right = 1;
    for (size_t room = 1; room < 40; room++) {
        char *buf = malloc(room);
        struct text t;
        text_init(&t, buf, room);
        text_add(&t, "some text");
        text_add_number(&t, UINT64_MAX);
        text_add_octets_hex(&t, "\x00\xff\x1a", 3);
        static const char whole[] = "some text1844674407370955161500ff1a";
        right &= t.len == (room <= sizeof whole ? room - 1 : sizeof whole - 1) && strncmp(buf, whole, t.len) == 0 &&
                 !buf[t.len];
        right &= t.cut == (room < sizeof whole);
        free(buf);
    }
    ok(right, "in rooms of every size: cut where it ends, and only then");
}

static void test_reading(void) {
    uint64_t n = 7;
    const char *s = "18446744073709551615x", *begin = s;
    ok(text_number(&s, &n) && n == UINT64_MAX && *s == 'x', "the largest number, and what follows");
    s = begin = "18446744073709551616";
    ok(!text_number(&s, &n) && s == begin && n == UINT64_MAX, "one more overflows, and changes nothing");
    s = begin = "184467440737095516150";
    ok(!text_number(&s, &n) && s == begin, "and so does ten times as many");
    s = begin = "";
    ok(!text_number(&s, &n) && s == begin, "nothing is no number");
    s = begin = "-1";
    ok(!text_number(&s, &n) && s == begin, "nor is a sign");
    s = "007";
    ok(text_number(&s, &n) && n == 7 && !*s, "leading zeros");
}

static void test_comparing(void) {
    ok(text_equal("", "") && text_equal("a", "a") && !text_equal("a", "") && !text_equal("", "a") &&
           !text_equal("ab", "aB"),
       "equal");
    ok(text_starts("abc", "") && text_starts("abc", "abc") && !text_starts("ab", "abc") && !text_starts("abc", "b"),
       "starts");
    is(text_length("1234"), 4, "length");
    is_text(text_basename("/a/b/c"), "c", "base name");
    is_text(text_basename("c"), "c", "without a directory");
    is_text(text_basename("/a/"), "", "of a directory");
}

int main(void) {
    test_adding();
    test_rooms();
    test_reading();
    test_comparing();
    return tap_done();
}
