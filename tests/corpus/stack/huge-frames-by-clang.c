/* SPDX-License-Identifier: Apache-2.0 */
/* Kind: frames of many MiB, as clang makes them
 * Symptom, right: as in huge-frames.c
 *
 * NEEDS command clang
 * BUILD clang ${CC#gcc} -DPART=_plain -c $SRC -o $BIN.plain.o
 * BUILD clang ${CC#gcc} -O0 -DPART=_pointers -c $SRC -o $BIN.pointers.o
 * BUILD clang ${CC#gcc} -pthread $SRC $BIN.plain.o $BIN.pointers.o -o $BIN
 * EXPECT timeout 20
 * EXPECT stack in_one_plain<-one_plain<-two_plain<-all_plain<-both<-main
 * EXPECT stack in_vast_plain<-vast_plain<-all_plain<-both<-main
 * EXPECT stack in_dynamic_plain<-dynamic_plain<-all_plain<-both<-main
 * EXPECT stack in_aligned_plain<-aligned_plain<-all_plain<-both<-main
 * EXPECT stack in_one_pointers<-one_pointers<-two_pointers<-all_pointers<-both<-on_thread
 * EXPECT stack in_vast_pointers<-vast_pointers<-all_pointers<-both<-on_thread
 * EXPECT stack in_dynamic_pointers<-dynamic_pointers<-all_pointers<-both<-on_coroutine
 * EXPECT stack in_aligned_pointers<-aligned_pointers<-all_pointers<-both<-on_coroutine
 */
#include "tests/corpus/stack/huge-frames.h"
