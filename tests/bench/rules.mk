# SPDX-License-Identifier: Apache-2.0
# What the profiler costs: `make bench` (BENCH="--only a,c --runs 9" for options, see tests/bench/bench.py).

BENCH_B := $(B)/bench
BENCH_PROGRAMS := $(BENCH_B)/work $(BENCH_B)/measure $(BENCH_B)/learn $(BENCH_B)/libforward.so
# As a program is built that somebody profiles, with the calls of malloc where the source has them.
BENCH_FLAGS := -D_GNU_SOURCE -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread
BENCH_FLAGS += -fno-builtin-malloc -fno-builtin-free

.PHONY: bench bench-programs

bench-programs: $(BENCH_PROGRAMS)
	@ln -sfn $(FLAVOUR)/bench build/bench-programs

# instructions.t runs them.
test-programs: bench-programs

bench: all bench-programs ## measure what the profiler costs, beside its peers
	tests/bench/bench.py $(BENCH)

$(BENCH_B)/work $(BENCH_B)/measure: $(BENCH_B)/%: tests/bench/%.c tests/bench/rules.mk
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(BENCH_FLAGS) $(CFLAGS) -MF $@.d -MT $@ -o $@ $< $(LDFLAGS)

$(BENCH_B)/learn: tests/bench/learn.c $(B)/preload/record/cfi.o tests/bench/rules.mk
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(BENCH_FLAGS) $(CFLAGS) -MF $@.d -MT $@ -o $@ $< $(B)/preload/record/cfi.o $(LDFLAGS) \
	    -lunwind-x86_64

$(BENCH_B)/libforward.so: tests/bench/forward.c tests/bench/rules.mk
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -fPIC -fno-builtin -shared $(CFLAGS) -MF $@.d -MT $@ -o $@ $< $(LDFLAGS)

-include $(BENCH_PROGRAMS:%=%.d)
