/* SPDX-License-Identifier: Apache-2.0 */
/* Where the segment lives: a file in shared memory that other processes of the same user can read, and that stays when the
 * process is killed.
 *
 *     /dev/shm/cprof-UID/PID-TICKS[-N].segment      directory 0700, file 0600
 *
 * TICKS is the process's start time (field 22 of /proc/PID/stat), N tells apart programs that one process ran one after the
 * other by exec. The file is as long as the segment and almost all hole. No descriptor is kept. Of those left by
 * processes that were killed the newest 64 are kept, and at most 256 MiB. If any of it can't be had
 * the segment is the process's own memory, and only the profile at the end is made of it. */
#ifndef CPROF_RECORD_SEGMENT_FILE_H
#define CPROF_RECORD_SEGMENT_FILE_H

#include <stdint.h>

#define SEGMENT_FILE_DIRECTORY "/dev/shm/cprof-" /* and the user's number */

/* Creates the file of `size` bytes. Its descriptor, or -errno when it has been said that there is none (CPROF_LOG=warn). */
int segment_file_create(uint64_t size, uint32_t uid, uint32_t pid, uint64_t ticks);

/* This process was profiled before, as the program that it was until an exec. */
int segment_file_is_successor(void);

/* The directory that it was to be created in, with the user's number. */
const char *segment_file_directory(void);

/* Removes the file that this process created last, if any. */
void segment_file_remove(void);

/* In a forked child: the file is the parent's, and none of ours to remove. */
void segment_file_disown(void);

#endif
