#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sounds, pictures and films.
exec "$(dirname "$0")/run.py" media
