#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that read and write text.
exec "$(dirname "$0")/run.py" text
