/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profile files: every form they may take, and whatever else may come. */
#include "tests/unit/tap.h"

#include "proto/check.h"
#include "proto/reader.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

struct piece {
    unsigned char *bytes;
    size_t len;
};

static struct prof_error prof_error;

/* Pieces live until the end. */
static void *kept[100];
static size_t kept_count;

static unsigned char *keep(size_t len) {
    if (kept_count == sizeof kept / sizeof kept[0])
        exit(1);
    return kept[kept_count++] = calloc(1, len);
}

static uint64_t random_state = 7;
static uint64_t random64(void) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* A message with the given texts and one sample for each of `locations`. */
static struct piece message(const char *const *texts, size_t text_count, uint64_t locations, int64_t period) {
    ProfProfile p = PERFTOOLS__PROFILES__PROFILE__INIT;
    ProtobufCBinaryData strings[8];
    ProfSample samples[8];
    ProfSample *sample_ptr[8];
    uint64_t ids[8];
    int64_t value = 3;
    for (size_t i = 0; i < text_count; i++)
        strings[i] = (ProtobufCBinaryData){.len = strlen(texts[i]), .data = (uint8_t *)(uintptr_t)texts[i]};
    for (size_t i = 0; i < locations; i++) {
        perftools__profiles__sample__init(&samples[i]);
        ids[i] = i + 1;
        samples[i].location_id = &ids[i];
        samples[i].value = &value;
        samples[i].n_location_id = samples[i].n_value = 1;
        sample_ptr[i] = &samples[i];
    }
    p.string_table = strings;
    p.n_string_table = text_count;
    p.sample = sample_ptr;
    p.n_sample = locations;
    p.period = period;
    struct piece piece = {.len = perftools__profiles__profile__get_packed_size(&p)};
    piece.bytes = keep(piece.len);
    perftools__profiles__profile__pack(&p, piece.bytes);
    return piece;
}

static struct piece joined(struct piece a, struct piece b) {
    struct piece piece = {.bytes = keep(a.len + b.len), .len = a.len + b.len};
    memcpy(piece.bytes, a.bytes, a.len);
    memcpy(piece.bytes + a.len, b.bytes, b.len);
    return piece;
}

static struct piece zipped(struct piece from) {
    z_stream z = {0};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    struct piece piece = {.len = deflateBound(&z, from.len)};
    piece.bytes = keep(piece.len);
    z.next_in = from.bytes;
    z.avail_in = (uInt)from.len;
    z.next_out = piece.bytes;
    z.avail_out = (uInt)piece.len;
    deflate(&z, Z_FINISH);
    piece.len -= z.avail_out;
    deflateEnd(&z);
    return piece;
}

/* Reads from a block that has exactly the length, so that a sanitizer sees every byte beyond. */
static ProfProfile *read_piece(struct piece piece, uint64_t max) {
    unsigned char *copy = malloc(piece.len > 0 ? piece.len : 1);
    memcpy(copy, piece.bytes, piece.len);
    ProfProfile *profile = profile_read_bytes(copy, piece.len, max, &prof_error);
    free(copy);
    return profile;
}

static void reads_both(struct piece piece, const char *what) {
    ProfProfile *p = read_piece(piece, 0);
    ok(p && p->n_string_table == 3 && p->n_sample == 3 && p->period == 5 && profile_text_is(p, 2, "second"), "%s",
       what);
    if (!p)
        printf("# %s\n", prof_error.text);
    profile_free(p);
}

static void refuses(struct piece piece, uint64_t max, const char *why, const char *what) {
    ProfProfile *p = read_piece(piece, max);
    if (!ok(!p && strstr(prof_error.text, why), "refused: %s", what))
        printf("# %s\n", prof_error.text);
    profile_free(p);
}

static struct piece first, second;

static void test_forms(void) {
    struct piece bare = joined(first, second);
    struct piece gzip = zipped(bare);
    struct piece members = joined(zipped(first), zipped(second));
    reads_both(bare, "two messages, bare");
    reads_both(gzip, "two messages in one gzip member");
    reads_both(members, "two messages in a member each");

    size_t whole = zipped(first).len;
    bool good = true;
    for (size_t len = 0; len < members.len; len++) {
        ProfProfile *p = read_piece((struct piece){members.bytes, len}, 0);
        good = good && (p == NULL) == (len != whole) && (p || prof_error.text[0] != '\0');
        profile_free(p);
    }
    ok(good, "cut off anywhere but between members it is refused");
    refuses(joined(gzip, (struct piece){(unsigned char *)(uintptr_t) "junk", 4}), 0, "damaged",
            "bytes behind the gzip data");
    refuses((struct piece){gzip.bytes, 0}, 0, "empty", "nothing");
    refuses(zipped((struct piece){gzip.bytes, 0}), 0, "empty", "nothing, in gzip");
    refuses((struct piece){(unsigned char *)(uintptr_t) "root:x:0:0:root", 15}, 0, "not a pprof profile", "a text");
    gzip.bytes[gzip.len - 1] ^= 1;
    refuses(gzip, 0, "damaged", "a wrong checksum");
}

static void test_limits(void) {
    struct piece zeros = {keep(1 << 20), 1 << 20};
    struct piece bomb = zipped(zeros);
    refuses(bomb, 1000000, "larger than 1000000 bytes", "content over the limit");
    refuses(zeros, 1000000, "larger than 1000000 bytes", "a bare file over the limit");
    ProfProfile *p = read_piece(joined(first, second), first.len + second.len);
    ok(p, "just at the limit");
    profile_free(p);
    p = read_piece(zipped(joined(first, second)), first.len + second.len);
    ok(p, "also in gzip");
    profile_free(p);
    /* Empty samples: two bytes each, that take a hundred in memory. */
    for (size_t i = 0; i < zeros.len; i += 2)
        zeros.bytes[i] = 0x12;
    refuses(zeros, 0, "too much memory", "content made to swell");
    struct piece tiny = zipped(zeros);
    refuses(tiny, 0, "too much memory", "also in gzip");
}

static void test_files(void) {
    char name[] = "/tmp/test_reader.XXXXXX";
    int fd = mkstemp(name);
    struct piece gzip = zipped(joined(first, second));
    ok(fd >= 0 && write(fd, gzip.bytes, gzip.len) == (ssize_t)gzip.len, "a file");
    ProfProfile *p = profile_read(name, 0, &prof_error);
    ok(p && p->n_sample == 3, "is read");
    profile_free(p);
    ok(!profile_read(name, 20, &prof_error) && strstr(prof_error.text, "larger"), "up to the limit");
    lseek(fd, 0, SEEK_SET);
    dup2(fd, STDIN_FILENO);
    p = profile_read("-", 0, &prof_error);
    ok(p && p->n_sample == 3, "also as standard input");
    profile_free(p);
    close(fd);
    unlink(name);
    ok(!profile_read(name, 0, &prof_error) && strstr(prof_error.text, "No such file"), "one that is not there");
    ok(!profile_read("/", 0, &prof_error) && strstr(prof_error.text, "directory"), "a directory");
}

static void no_report(void *ctx, const char *where, const char *what) {
    (void)ctx;
    (void)where;
    (void)what;
}

static void test_garbage(void) {
    struct piece bare = joined(first, second);
    struct piece gzip = zipped(bare);
    const struct piece whole[] = {bare, gzip, joined(bare, bare), joined(gzip, gzip)};
    struct piece piece = {.bytes = keep(4096)};
    unsigned read = 0;
    for (int round = 0; round < 20000; round++) {
        piece.len = whole[round % 4].len;
        memcpy(piece.bytes, whole[round % 4].bytes, piece.len);
        for (uint64_t n = random64() % 6; n > 0; n--)
            piece.bytes[random64() % piece.len] = (unsigned char)random64();
        ProfProfile *p = read_piece(piece, 1 << 20);
        if (p) {
            read++;
            profile_check(p, no_report, NULL);
        }
        profile_free(p);
    }
    ok(read > 100, "damaged files: %u of 20000 can be read and judged", read);
}

int main(void) {
    static const char *const one[] = {"", "first"};
    static const char *const two[] = {"second"};
    first = message(one, 2, 1, 4);
    second = message(two, 1, 2, 5);
    test_forms();
    test_limits();
    test_files();
    test_garbage();
    while (kept_count > 0)
        free(kept[--kept_count]);
    return tap_done();
}
