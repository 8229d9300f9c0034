/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: frames of many MiB (numeric code in C and Fortran keeps its arrays on the stack)
 * Symptom: the unwind tables say how large the frame is, but the walk takes what lies beyond it for no part of the stack
 * Right: exit 0, stdout "ok": the frames outside of huge ones are found on an unlimited main stack, on a thread's of 600 MiB, and on
 *     a coroutine's between unreadable pages: one huge frame, two, one larger than a walking rule can say, one of alloca, and
 *     one with an aligned array. The frames are those of gcc with and without frame pointers.
 *
 * BUILD $CC -DPART=_plain -c $SRC -o $BIN.plain.o
 * BUILD $CC -O0 -DPART=_pointers -c $SRC -o $BIN.pointers.o
 * BUILD $CC -pthread $SRC $BIN.plain.o $BIN.pointers.o -o $BIN
 * EXPECT timeout 20
 * EXPECT func in_one_plain 60 6000 0 0
 * EXPECT func in_vast_pointers 30 3000 0 0
 * EXPECT stack in_one_plain<-one_plain<-all_plain<-both<-main
 * EXPECT stack in_one_plain<-one_plain<-two_plain<-all_plain<-both<-main
 * EXPECT stack in_vast_plain<-vast_plain<-all_plain<-both<-main
 * EXPECT stack in_dynamic_plain<-dynamic_plain<-all_plain<-both<-main
 * EXPECT stack in_aligned_plain<-aligned_plain<-all_plain<-both<-main
 * EXPECT stack in_one_pointers<-one_pointers<-all_pointers<-both<-main
 * EXPECT stack in_one_pointers<-one_pointers<-two_pointers<-all_pointers<-both<-main
 * EXPECT stack in_vast_pointers<-vast_pointers<-all_pointers<-both<-main
 * EXPECT stack in_dynamic_pointers<-dynamic_pointers<-all_pointers<-both<-main
 * EXPECT stack in_aligned_pointers<-aligned_pointers<-all_pointers<-both<-main
 * EXPECT stack in_one_plain<-one_plain<-all_plain<-both<-on_thread
 * EXPECT stack in_one_plain<-one_plain<-two_plain<-all_plain<-both<-on_thread
 * EXPECT stack in_vast_plain<-vast_plain<-all_plain<-both<-on_thread
 * EXPECT stack in_dynamic_plain<-dynamic_plain<-all_plain<-both<-on_thread
 * EXPECT stack in_aligned_plain<-aligned_plain<-all_plain<-both<-on_thread
 * EXPECT stack in_one_pointers<-one_pointers<-two_pointers<-all_pointers<-both<-on_thread
 * EXPECT stack in_vast_pointers<-vast_pointers<-all_pointers<-both<-on_thread
 * EXPECT stack in_dynamic_pointers<-dynamic_pointers<-all_pointers<-both<-on_thread
 * EXPECT stack in_aligned_pointers<-aligned_pointers<-all_pointers<-both<-on_thread
 * EXPECT stack in_one_plain<-one_plain<-two_plain<-all_plain<-both<-on_coroutine
 * EXPECT stack in_vast_plain<-vast_plain<-all_plain<-both<-on_coroutine
 * EXPECT stack in_dynamic_plain<-dynamic_plain<-all_plain<-both<-on_coroutine
 * EXPECT stack in_aligned_plain<-aligned_plain<-all_plain<-both<-on_coroutine
 * EXPECT stack in_one_pointers<-one_pointers<-two_pointers<-all_pointers<-both<-on_coroutine
 * EXPECT stack in_vast_pointers<-vast_pointers<-all_pointers<-both<-on_coroutine
 * EXPECT stack in_dynamic_pointers<-dynamic_pointers<-all_pointers<-both<-on_coroutine
 * EXPECT stack in_aligned_pointers<-aligned_pointers<-all_pointers<-both<-on_coroutine
 */
#include "tests/corpus/stack/huge-frames.h"
