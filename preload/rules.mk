# SPDX-License-Identifier: Apache-2.0
# libcprof.so, which needs libc alone, and its backend, which needs libunwind, protobuf-c and zlib and is loaded privately.
# The objects are listed in the order in which a sample passes through them.

INTERCEPT := hooks next guard arena symbol config re2 life dump ends limits symbolize
RECORD := record thread peak sampler walk caller known stack rules cfi modules loader maps tree index shadow segment segment_file process memory output name log text
BACKEND := encode unwind

PRELOAD_OBJS := $(INTERCEPT:%=$(B)/preload/intercept/%.o) $(B)/preload/intercept/entry.o $(RECORD:%=$(B)/preload/record/%.o)
BACKEND_OBJS := $(BACKEND:%=$(B)/preload/backend/%.o) $(PROTO_ENCODE_PIC_OBJS)

# No vector registers: callers with a misaligned stack exist, and a signal handler or a trap on floating-point exceptions
# must find nothing of ours; two are borrowed in words.h. No rbp in the hooks: they hand it on as their caller left it.
PRELOAD_CFLAGS := -D_GNU_SOURCE -fPIC -fvisibility=hidden -ftls-model=initial-exec -mgeneral-regs-only -fno-builtin -fno-stack-protector \
    -fomit-frame-pointer -fcf-protection=none -fno-tree-loop-distribute-patterns
$(B)/preload/intercept/hooks.o: PRELOAD_CFLAGS += -ffixed-rbp -fno-lto
# A sample passes through seven files; the linker sees them as one. The hooks stay apart: -ffixed-rbp would be forgotten.
PRELOAD_LTO := -flto=auto
PRELOAD_CFLAGS += $(PRELOAD_LTO)

$(B)/preload/%.o: preload/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(PRELOAD_CFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/preload/%.o: preload/%.S
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -c -o $@ $<

$(B)/preload/backend/%.o: preload/backend/%.c | $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE -fPIC -fvisibility=hidden $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/libcprof.so: $(PRELOAD_OBJS) preload/libcprof.map
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -nostartfiles $(filter-out -MMD -MP,$(BASE)) $(PRELOAD_CFLAGS) $(LD_SAFE) -Wl,-z,initfirst -Wl,-z,nodelete -Wl,--as-needed \
	    -Wl,--version-script=preload/libcprof.map -Wl,-soname,libcprof.so -o $@ $(PRELOAD_OBJS) $(LDFLAGS)

$(B)/libcprof-backend.so: $(BACKEND_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared $(LD_SAFE) -Wl,-soname,libcprof-backend.so -o $@ $(BACKEND_OBJS) -lunwind-x86_64 $(PROTO_ENCODE_LIBS) $(LDFLAGS)

build/libcprof.so build/libcprof-backend.so: build/%: $(B)/%
	@ln -sfn $(FLAVOUR)/$* $@

all: build/libcprof.so build/libcprof-backend.so

-include $(PRELOAD_OBJS:.o=.d) $(BACKEND_OBJS:.o=.d)
