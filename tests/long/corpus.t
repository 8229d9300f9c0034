#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The corpus, with those cases a dozen times whose faults depend on timing.
exec env CORPUS_REPEAT=12 "$(dirname "$0")/../corpus/corpus.t"
