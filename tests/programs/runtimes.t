#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that run others.
exec "$(dirname "$0")/run.py" runtimes
