#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A hundred kills of a server at work.
exec env KILLS=100 "$(dirname "$0")/../live/kill.t"
