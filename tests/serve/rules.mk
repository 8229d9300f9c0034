# SPDX-License-Identifier: Apache-2.0
# Programs whose profiles are served, and what is preloaded beside the profiler.
TEST_SOURCES += $(wildcard tests/serve/*.c)
PLUGIN_SOURCES += $(wildcard tests/serve/*_plugin.c)
