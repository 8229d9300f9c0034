# SPDX-License-Identifier: Apache-2.0
# Fuzzing. The corpus is run by `make check` as a unit test is, sanitizers on; `make fuzz` builds the target for libFuzzer,
# which tests/long/fuzz_reader.t runs.

FUZZ_PROTO := proto/reader proto/check proto/ids proto/gzip
FUZZ_TOOLS := $(addprefix tools/,json load save tool units flame_folded flame_page flame_svg flame_tree flame_walk)
FUZZ_OBJS := $(FUZZ_PROTO:%=$(B)/%.o) $(FUZZ_TOOLS:%=$(B)/%.o) $(B)/proto/profile.pb-c.o $(B)/tools/flame_html.o
FUZZ_TEST_OBJS := $(B)/tests/fuzz/reader.o $(B)/tests/fuzz/replay.o

UNIT_TESTS += $(B)/tests/fuzz/replay

$(B)/tests/fuzz/replay: $(FUZZ_TEST_OBJS) $(FUZZ_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) $(LD_SAFE) $(LDFLAGS) -o $@ $^ $(PROTO_LIBS) $(GZIP_LIBS)

$(FUZZ_TEST_OBJS): $(B)/%.o: %.c | $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE $(SANFLAGS) $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

FUZZ_CC ?= clang
FUZZ_FLAGS := -std=gnu11 -O1 -g -I. -I$(GEN) -D_GNU_SOURCE -DCPROF_VERSION='"$(VERSION)"' \
    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_SOURCES := tests/fuzz/reader.c $(FUZZ_PROTO:%=%.c) $(FUZZ_TOOLS:%=%.c) $(GEN)/proto/profile.pb-c.c

.PHONY: fuzz
fuzz: build/fuzz/reader

build/fuzz/reader: $(FUZZ_SOURCES) $(wildcard proto/*.h tools/*.h) $(B)/tools/flame_html.o $(PROTO_GENERATED)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) $(PROTO_CFLAGS) -o $@ $(FUZZ_SOURCES) $(B)/tools/flame_html.o $(PROTO_LIBS) $(GZIP_LIBS)

-include $(FUZZ_TEST_OBJS:.o=.d)
