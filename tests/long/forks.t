#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ten thousand forks.
exec env FORKS=10000 "$(dirname "$0")/../ends/fork.t"
