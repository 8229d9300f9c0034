# SPDX-License-Identifier: Apache-2.0
# Programs that are looked at while they run, and programs that end in all ways there are.
TEST_SOURCES += $(wildcard tests/live/*.c tests/ends/*.c)
