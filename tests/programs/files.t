#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Archives, copies, histories.
exec "$(dirname "$0")/run.py" files
