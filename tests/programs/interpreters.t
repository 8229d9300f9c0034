#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Interpreters and shells.
exec "$(dirname "$0")/run.py" interpreters
