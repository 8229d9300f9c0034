# SPDX-License-Identifier: Apache-2.0
# Unit tests of preload/record/. Its sources are compiled once more, plainly and with the sanitizers that the build
# asks for (the library's own flags leave no room for these), with system calls that can be made to fail
# (preload/record/sys.h).

RECORD_TESTS := sampler known cfi cfi_fuzz index tree shadow segment thread rules maps text name counts stack
RECORD_UNIT := $(B)/unit-record
RECORD_UNIT_OBJS := $(RECORD:%=$(RECORD_UNIT)/%.o) $(RECORD_UNIT)/helpers.o
RECORD_UNIT_FLAGS := -D_GNU_SOURCE -DCPROF_FAULTS -pthread $(SANFLAGS)
UNIT_TESTS += $(RECORD_TESTS:%=$(B)/tests/unit/test_record_%)

$(RECORD_UNIT)/%.o: preload/record/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(RECORD_UNIT_FLAGS) $(CFLAGS) -c -o $@ $<

$(RECORD_UNIT)/helpers.o: tests/unit/record_helpers.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(RECORD_UNIT_FLAGS) $(CFLAGS) -c -o $@ $<

# An archive, so that each test gets what it uses.
$(RECORD_UNIT)/record.a: $(RECORD_UNIT_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(RECORD_TESTS:%=$(B)/tests/unit/test_record_%): $(B)/tests/unit/%: tests/unit/%.c $(RECORD_UNIT)/record.a
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(RECORD_UNIT_FLAGS) $(CFLAGS) -MF $@.d -o $@ $< $(RECORD_UNIT)/record.a $(LDFLAGS) -lm

# The one part of preload/intercept/ that stands for itself.
UNIT_TESTS += $(B)/tests/unit/test_re2
$(RECORD_UNIT)/re2.o: preload/intercept/re2.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(RECORD_UNIT_FLAGS) $(CFLAGS) -c -o $@ $<

$(B)/tests/unit/test_re2: tests/unit/test_re2.c $(RECORD_UNIT)/re2.o $(RECORD_UNIT)/text.o
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(RECORD_UNIT_FLAGS) $(CFLAGS) -MF $@.d -o $@ $^ $(LDFLAGS)

# Those with threads, under the thread sanitizer (`make tsan`).
RECORD_TSAN := index tree shadow segment thread counts rules
.PHONY: tsan tsan-programs
tsan-programs: $(RECORD_TSAN:%=$(B)/tests/unit/test_record_%)
tsan: ## the unit tests that have threads, with the thread sanitizer
	+$(Q)$(MAKE) --no-print-directory SANITIZE=thread FLAVOUR=san-thread tsan-programs
	$(Q)$(PROVE) $(PROVE_FLAGS) $(RECORD_TSAN:%=build/san-thread/tests/unit/test_record_%)

-include $(RECORD_UNIT)/re2.d $(B)/tests/unit/test_re2.d $(RECORD_UNIT_OBJS:.o=.d) $(RECORD_TESTS:%=$(B)/tests/unit/test_record_%.d)
