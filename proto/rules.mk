# SPDX-License-Identifier: Apache-2.0
# The format: segment view, encoder, reader, checker. Built twice: position-independent for the library's backend, and
# plain (with SANITIZE) for the tools and unit tests.
#
#   PROTO_ENCODE_PIC_OBJS   what the backend links: from a segment to a profile; needs $(PROTO_ENCODE_LIBS)
#   PROTO_OBJS              everything, for the tools; needs $(PROTO_LIBS)

PROTO_ENCODE := view encode places batch gzip comment estimate in_use
PROTO_READ := reader check ids

PROTO_CFLAGS := $(shell $(PKG_CONFIG) --cflags libprotobuf-c zlib)
PROTO_LIBS := $(shell $(PKG_CONFIG) --libs libprotobuf-c zlib) -lm
PROTO_ENCODE_LIBS := $(PROTO_LIBS)

PROTO_GENERATED := $(GEN)/proto/profile.pb-c.c $(GEN)/proto/profile.pb-c.h
PROTO_ENCODE_PIC_OBJS := $(PROTO_ENCODE:%=$(B)/proto/%.pic.o) $(B)/proto/profile.pb-c.pic.o
PROTO_OBJS := $(PROTO_ENCODE:%=$(B)/proto/%.o) $(PROTO_READ:%=$(B)/proto/%.o) $(B)/proto/profile.pb-c.o

$(PROTO_GENERATED) &: proto/profile.proto
	$(call say,PROTOC,$<)
	@mkdir -p $(GEN)/proto
	$(Q)$(PROTOC_C) --c_out=$(GEN) $<

$(B)/proto/%.o: proto/%.c | $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SANFLAGS) $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/proto/%.pic.o: proto/%.c | $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -fPIC -fvisibility=hidden $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/proto/profile.pb-c.o: $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SANFLAGS) $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/proto/profile.pb-c.pic.o: $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -fPIC -fvisibility=hidden $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

-include $(PROTO_OBJS:.o=.d) $(PROTO_ENCODE_PIC_OBJS:.o=.d)

# ---- Unit tests: programs that print TAP ----

PROTO_TESTS := test_view test_estimate test_encode test_encode_limits test_encode_live test_drop_frames
PROTO_TESTS += test_reader test_check
PROTO_TEST_OBJS := $(PROTO_TESTS:%=$(B)/tests/unit/%.o) $(B)/tests/unit/proto_segment.o
UNIT_TESTS += $(PROTO_TESTS:%=$(B)/tests/unit/%)

$(PROTO_TESTS:%=$(B)/tests/unit/%): %: %.o $(B)/tests/unit/proto_segment.o $(PROTO_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) $(LD_SAFE) $(LDFLAGS) -o $@ $^ $(PROTO_LIBS)

$(PROTO_TEST_OBJS): $(B)/%.o: %.c | $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE $(SANFLAGS) $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

-include $(PROTO_TEST_OBJS:.o=.d)
