#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compilers, and what stands around them.
exec "$(dirname "$0")/run.py" build
