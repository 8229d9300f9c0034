# SPDX-License-Identifier: Apache-2.0
# The library that compares each recorded stack with libunwind's (preload/record/verify.h), for stacks.t: the sources of
# the one that is shipped, with some of the calls between them led through verify.c. That takes calls that are still
# there when it is linked, so without optimization at link time.

STACKS := $(B)/tests/stacks
VERIFY_WRAPS := config_read life_before_main record_block walk_stack
VERIFY_OBJS := $(PRELOAD_OBJS:$(B)/%=$(STACKS)/%) $(STACKS)/preload/record/verify.o

$(filter-out %/entry.o,$(VERIFY_OBJS)): $(STACKS)/%.o: %.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(PRELOAD_CFLAGS) $(if $(filter %/hooks.o,$@),-ffixed-rbp) -fno-lto $(CFLAGS) -c -o $@ $<

$(filter %/entry.o,$(VERIFY_OBJS)): $(STACKS)/%.o: $(B)/%.o
	@mkdir -p $(@D)
	@cp $< $@

$(STACKS)/libcprof.so: $(VERIFY_OBJS) preload/libcprof.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -nostartfiles $(LD_SAFE) -Wl,-z,initfirst -Wl,-z,nodelete -Wl,--as-needed \
	    $(VERIFY_WRAPS:%=-Wl,--wrap=%) -Wl,--version-script=preload/libcprof.map -Wl,-soname,libcprof.so \
	    -o $@ $(VERIFY_OBJS) $(LDFLAGS)

$(STACKS)/libcprof-backend.so: $(B)/libcprof-backend.so
	@mkdir -p $(@D)
	@ln -sfn ../../libcprof-backend.so $@

$(STACKS)/libcprof-verify.so: preload/backend/verify.c
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -fPIC -fvisibility=hidden $(CFLAGS) -shared $(LD_SAFE) \
	    -MF $@.d -o $@ $< -lunwind $(LDFLAGS)

STACKS_LIBS := $(STACKS)/libcprof.so $(STACKS)/libcprof-backend.so $(STACKS)/libcprof-verify.so

# Linked so that there are gaps between their segments: the loader knows such objects one segment at a time.
STACKS_GAPS := $(STACKS)/throwing-gaps $(STACKS)/throwing_plugin-gaps.so
$(STACKS)/throwing-gaps: STACKS_GAPS_FLAGS := -no-pie
$(STACKS)/throwing_plugin-gaps.so: STACKS_GAPS_FLAGS := -fPIC -shared
$(STACKS)/throwing-gaps: tests/stacks/throwing.cc
$(STACKS)/throwing_plugin-gaps.so: tests/stacks/throwing_plugin.cc
$(STACKS_GAPS):
	$(call say,CXXLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(TEST_CXXFLAGS) $(CXXFLAGS) $(STACKS_GAPS_FLAGS) -fomit-frame-pointer -Wl,-z,max-page-size=0x200000 \
	    -o $@ $< $(LDFLAGS)

$(STACKS)/turns: tests/stacks/turns.c
	$(call say,CCLD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TEST_FLAGS) $(CFLAGS) -O2 -fomit-frame-pointer -o $@ $< $(LDFLAGS)

TEST_PROGRAMS += $(STACKS_LIBS) $(STACKS_GAPS) $(STACKS)/turns

.PHONY: stacks
stacks: $(STACKS_LIBS) $(STACKS)/throwing $(STACKS)/throwing_plugin.so $(STACKS_GAPS) $(STACKS)/turns
	@ln -sfn $(B:build/%=%)/tests build/tests

-include $(VERIFY_OBJS:.o=.d)
