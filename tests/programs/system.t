#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What administers a system, and what strains it.
exec "$(dirname "$0")/run.py" system
