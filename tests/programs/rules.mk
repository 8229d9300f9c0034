# SPDX-License-Identifier: Apache-2.0
# A matrix of real programs, run by `make check-long`; `make programs-table` measures what they take and writes the table
# in tests/programs/README.md.
TEST_SOURCES += tests/programs/witness_plugin.c

.PHONY: programs-table
programs-table: deps-long ## run real programs with and without, and write the table of ratios
	$(AGAIN) all test-programs
	$(Q)tests/programs/table.py
