#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Databases.
exec "$(dirname "$0")/run.py" databases
