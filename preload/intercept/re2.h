/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text is a regular expression, as pprof takes it: that is Go's regexp, whose syntax is RE2's. pprof says nothing of one
 * that is none, and leaves out all that it is a part of.
 *
 * Only the form is looked at, by this reader of its own: regcomp allocates, heeds the locale, and takes POSIX's syntax. Names
 * are taken on trust ([[:alpha:]], \pL, (?P<a>)), and so is the size that nested repetitions come to. */
#ifndef CPROF_INTERCEPT_RE2_H
#define CPROF_INTERCEPT_RE2_H

/* NULL, or what is wrong with it, to be put behind the expression and "is no regular expression: ". */
const char *re2_fault(const char *expression);

#endif
