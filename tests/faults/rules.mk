# SPDX-License-Identifier: Apache-2.0
# The library whose own system calls can be made to fail (inject.c), for faults.t: the sources of the one that is shipped, compiled
# with CPROF_FAULTS. clone is no call of preload/record/sys.h's, so it is led through inject.c by the linker, which takes calls
# that are still there when it links.

FAULTS := $(B)/tests/faults
FAULTY_OBJS := $(PRELOAD_OBJS:$(B)/%=$(FAULTS)/%)
INJECT := $(FAULTS)/inject.o
TEST_SOURCES += $(addprefix tests/faults/,victim.c victim_plugin.c grower.c)

$(filter-out %/entry.o,$(FAULTY_OBJS)): $(FAULTS)/%.o: %.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(PRELOAD_CFLAGS) $(if $(filter %/hooks.o,$@),-ffixed-rbp) -fno-lto -DCPROF_FAULTS $(CFLAGS) -c -o $@ $<

$(filter %/entry.o,$(FAULTY_OBJS)): $(FAULTS)/%.o: $(B)/%.o
	@mkdir -p $(@D)
	@cp $< $@

$(INJECT): tests/faults/inject.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(PRELOAD_CFLAGS) -fno-lto $(CFLAGS) -c -o $@ $<

$(FAULTS)/libcprof.so: $(FAULTY_OBJS) $(INJECT) preload/libcprof.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -nostartfiles $(LD_SAFE) -Wl,-z,initfirst -Wl,-z,nodelete -Wl,--as-needed -Wl,--wrap=clone_call \
	    -Wl,--version-script=preload/libcprof.map -Wl,-soname,libcprof.so -o $@ $(FAULTY_OBJS) $(INJECT) $(LDFLAGS)

# Beside the library: its backend, and the command that gives profiles their names.
FAULTY_NEIGHBOURS := $(FAULTS)/libcprof-backend.so $(FAULTS)/cprof
$(FAULTY_NEIGHBOURS): $(FAULTS)/%: $(B)/%
	@mkdir -p $(@D)
	@ln -sfn ../../$* $@

TEST_PROGRAMS += $(FAULTS)/libcprof.so $(FAULTY_NEIGHBOURS)

-include $(FAULTY_OBJS:.o=.d) $(INJECT:.o=.d)
