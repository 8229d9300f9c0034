#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real programs: those of the matrix in tests/programs that are quick, without a witness.
exec "$(dirname "$0")/../programs/run.py" --quick
