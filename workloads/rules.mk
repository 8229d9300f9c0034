# SPDX-License-Identifier: Apache-2.0
# The bundled workloads: one program a file, each with its truth (see workload.h).
#
# They are what gets profiled, so no sanitizers, and the same code in every flavour: optimized as programs are, with
# symbols, and with calls of malloc that stay where the source has them.

WORKLOADS := collections graph math message_batch primes strings tasks
WORKLOAD_BINS := $(WORKLOADS:%=$(B)/workloads/%)
WORKLOAD_FLAGS := -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread
WORKLOAD_FLAGS += -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free

.PHONY: workloads workloads-link

all: workloads

workloads: $(WORKLOAD_BINS) | workloads-link

$(WORKLOAD_BINS): $(B)/workloads/%: workloads/%.c workloads/rules.mk
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(WORKLOAD_FLAGS) $(CFLAGS) -MF $@.d -MT $@ -o $@ $< $(LDFLAGS) -lm

# build/workloads is the flavour that was built last.
workloads-link:
	@mkdir -p $(B)/workloads
	@ln -sfn $(B:build/%=%)/workloads build/workloads

$(WORKLOADS:%=build/workloads/%): build/workloads/%: $(B)/workloads/% | workloads-link
	@:

-include $(WORKLOAD_BINS:%=%.d)
