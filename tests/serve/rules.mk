# SPDX-License-Identifier: Apache-2.0
# Programs whose profiles are served.
TEST_SOURCES += $(wildcard tests/serve/*.c)
