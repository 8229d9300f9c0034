/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken for a regular expression, and what is not: as regexp.Compile of Go 1.19 decides of each of these, but for
 * the last. */
#include "preload/intercept/re2.h"
#include "tests/unit/tap.h"

static const char *const good[] = {
    "", "a", "my_alloc|other\\(.*\\)", "std::vector<.*>::", "a|", "|a", "||", "()", "()*", "(a|b)+?", "a(b(c)d)e", 
    "^*", "$+", ".*?", "a*?b", "a??", "a{2}", "a{2,}?", "a{2,3}b*", "a{,3}", "a{", "{", "}", "a{x}", "a{1000}", "{,2}*", "x{1",
    "]", "a]b", "[]]", "[]a]", "[^]]", "[^]a-z]", "[a-]", "[-a]", "[a-a]", "[(*|+]", "[[:alpha:]]", "[^[:digit:]x]", "[[:alpha]",
    "[\\d-z]", "[\\]]", "[\\n-\\r]", "[\\x41-\\x{5A}]", "[a\\-z]", "[\xc3\xa9-\xc3\xbc]", "[\\pL\\P{Greek}]", "[[:]]",
    "\\d\\D\\s\\S\\w\\W", "\\pL\\P{Greek}", "\\p{^Greek}", "\\x41\\x{1F600}", "\\0\\012\\12", "\\a\\f\\n\\r\\t\\v", "\\A\\b\\B\\z",
    "\\.\\*\\(\\)\\[\\]\\{\\}\\\\\\-\\_\\ ", "\\Q(*[\\E", "\\Qa\\E*", "a\\Q\\E*", "(?:a)", "(?i)a", "(?i:a)", "(?-s)a",
    "(?im-sU:a)", "(?P<name_1>a)", "(?:)", "(?)", "a(?i)*", "(?s).*",
};

static const char *const bad[] = {
    "(", "a(", ")", "a)", "a)|(b", "(a))", "((a)", "(?", "(?:", "(?:a", "(?i", "[", "[a", "[^", "[]", "[^]", "[[:alpha:]", "[a-",
    "[\\]", "[z-a]", "[\\n-\\a]", "[a-\\d]", "*", "*x", "+", "?", "a|*", "(*)", "(?:+)", "(?i)*", "{2}", "a|{2}", "a**", "a*+", "a+*", "a???",
    "a{2}*", "a{2}{3}", "a{2}?+", "a{1001}", "a{3,2}", "a{2,1001}", "\\", "a\\", "[\\", "\\1", "(a)\\1", "\\8", "\\i", "\\y", "\\Z", "\\E", "\\C",
    "[\\b]", "[\\A]", "\\x", "\\x4", "\\xg", "\\x{", "\\x{}", "\\x{110000}", "\\x{41", "\\p", "\\p{", "\\p{}", "\\p{Greek", "\\\xc3\xa9", "(?=x)", "(?!x)",
    "(?<=x)", "(?<!x)", "(?<name>x)", "(?>x)", "(?#x)", "(?x)a", "(?P=name)", "(?P<>a)", "(?P<a-b>c)", "(?P<a", "(?i-)", "(?-)", "(?i--s)", "(?-i-s:a)",
    "\\Q\\E*", "a\\Qb\\E**",
    "\\Q", "\\Qa", "\\Q\\", /* Go takes these, but not as a part */
};

int main(void) {
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *fault = re2_fault(good[i]);
        ok(!fault, "'%s' is one%s%s", good[i], fault ? ", and not: " : "", fault ? fault : "");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(re2_fault(bad[i]) != NULL, "'%s' is none", bad[i]);
    return tap_done();
}
