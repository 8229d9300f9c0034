#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pages, graphs and browsers.
exec "$(dirname "$0")/run.py" documents
