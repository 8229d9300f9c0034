#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Servers of the network.
exec "$(dirname "$0")/run.py" servers
