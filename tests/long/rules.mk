# SPDX-License-Identifier: Apache-2.0
# The program of hammer.t, the library that it opens and closes, and one that counts behind the profiler.
TEST_SOURCES += $(wildcard tests/long/*.c tests/long/*.cc)
