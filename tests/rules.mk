# SPDX-License-Identifier: Apache-2.0
# The tests: programs and scripts that print TAP, run by prove.
#
#   tests/unit/*.c     parts of the format and of the tools, linked with what they test; the parts' rules.mk name them
#   tests/*/*.t        everything else, against what was built as a user has it
#   tests/system/*.c, *.cc, tests/accuracy/*.c   programs that these profile, built as build/tests/*/NAME
#   tests/faults/*.t   with system calls that fail, and at limits
#   tests/long/*.t     what takes minutes
#   tests/programs/*.t real programs of Debian's: minutes, too
#
#   PROVE_FLAGS=       for prove; two at a time

PROVE ?= prove
PROVE_FLAGS ?= -j2
LONG_TESTS := $(sort $(wildcard tests/long/*.t tests/programs/*.t))
TESTS := $(filter-out $(LONG_TESTS),$(sort $(wildcard tests/*/*.t)))

# Programs to be profiled: no sanitizers, and calls that stay where the source has them, as in the workloads.
TEST_FLAGS := -std=gnu11 $(OPT) $(WARN) -I. -D_GNU_SOURCE -MMD -MP -pthread -fno-omit-frame-pointer \
    -fno-optimize-sibling-calls -fno-builtin
TEST_CXXFLAGS := $(filter-out -std=gnu11 -Wstrict-prototypes -Wmissing-prototypes,$(TEST_FLAGS)) -std=c++17
TEST_SOURCES := $(wildcard $(foreach d,system accuracy,tests/$(d)/*.c tests/$(d)/*.cc))
PLUGIN_SOURCES = $(filter %_plugin.c %_plugin.cc,$(TEST_SOURCES))
TEST_PROGRAMS = $(patsubst %,$(B)/%,$(basename $(filter-out $(PLUGIN_SOURCES),$(TEST_SOURCES))) \
    $(addsuffix .so,$(basename $(PLUGIN_SOURCES)))) $(LINKED_TESTS) $(STATIC_TESTS)

$(B)/tests/%: tests/%.c
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_FLAGS) $(CFLAGS) -MF $@.d -o $@ $< $(LDFLAGS) $(TEST_LIBS)

$(B)/tests/%: tests/%.cc
	$(call say,CXXLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(TEST_CXXFLAGS) $(CXXFLAGS) -MF $@.d -o $@ $< $(LDFLAGS) $(TEST_LIBS)

$(B)/tests/%_plugin.so: tests/%_plugin.cc
	$(call say,CXXLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(TEST_CXXFLAGS) $(CXXFLAGS) -fPIC -shared -MF $@.d -o $@ $< $(LDFLAGS)

$(B)/tests/%_plugin.so: tests/%_plugin.c
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_FLAGS) $(CFLAGS) -fPIC -shared -MF $@.d -o $@ $< $(LDFLAGS)

STATIC_TESTS := $(B)/tests/system/steps.static
$(STATIC_TESTS): $(B)/tests/system/%.static: tests/system/%.c
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_FLAGS) $(CFLAGS) -static -MF $@.d -o $@ $< $(LDFLAGS)

# The same programs linked with other allocators, as far as these are there.
LIBRARIES := $(dir $(shell $(CC) -print-file-name=libc.so 2>/dev/null))
OTHER_ALLOCATORS := $(foreach a,jemalloc tcmalloc mimalloc,$(if $(wildcard $(LIBRARIES)lib$(a).so),$(a)))
LINKED_TESTS := $(foreach a,$(OTHER_ALLOCATORS),$(B)/tests/system/family.$(a) $(B)/tests/system/operators.$(a))
$(OTHER_ALLOCATORS:%=$(B)/tests/system/family.%): $(B)/tests/system/family.%: tests/system/family.c
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_FLAGS) $(CFLAGS) -MF $@.d -o $@ $< $(LDFLAGS) -Wl,--no-as-needed -l$*
$(OTHER_ALLOCATORS:%=$(B)/tests/system/operators.%): $(B)/tests/system/operators.%: tests/system/operators.cc
	$(call say,CXXLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(TEST_CXXFLAGS) $(CXXFLAGS) -MF $@.d -o $@ $< $(LDFLAGS) -Wl,--no-as-needed -l$*

include $(sort $(wildcard tests/*/rules.mk))
-include $(TEST_PROGRAMS:=.d)

.PHONY: unit-programs test-programs unit
unit-programs: $(UNIT_TESTS)
test-programs: $(TEST_PROGRAMS)
	@ln -sfn $(B:build/%=%)/tests build/tests

# Unit tests are run with sanitizers, in a build of their own; what is preloaded can't be.
SANITIZED := SANITIZE=address,undefined FLAVOUR=san-address-undefined
SANITIZED_TESTS = $(UNIT_TESTS:$(B)/%=build/san-address-undefined/%)
build_all = $(AGAIN) all test-programs && $(MAKE) --no-print-directory $(SANITIZED) unit-programs

unit: deps ## the unit tests alone
	$(AGAIN) $(SANITIZED) unit-programs
	$(Q)$(PROVE) $(PROVE_FLAGS) $(SANITIZED_TESTS)
