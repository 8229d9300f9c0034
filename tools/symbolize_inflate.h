/* SPDX-License-Identifier: Apache-2.0 */
/* Debug files as distributions ship them, with sections that are compressed.
 *
 * Why:  a process that ends waits for its names. Nine tenths of that time, where libc's debug file is installed, went
 *       into libelf's inflating all of its sections by zlib. Here it is done by libdeflate, in half the time, and not
 *       for those that nothing is looked up in. */
#ifndef CPROF_TOOLS_SYMBOLIZE_INFLATE_H
#define CPROF_TOOLS_SYMBOLIZE_INFLATE_H

/* Returns a descriptor of a copy in memory, with sections inflated as far as names and lines need them; or -1 if the
 * file is best read as it is. */
int inflate_debug_file(int fd);

#endif
