# SPDX-License-Identifier: Apache-2.0
# cprof, the command. Every .c file here is part of it.

TOOLS_OBJS := $(patsubst tools/%.c,$(B)/tools/%.o,$(sort $(wildcard tools/*.c)))
# libdw reads ELF and DWARF, libdeflate inflates it; libiberty, which is a static archive, demangles C++ and Rust without libstdc++.
# libmicrohttpd is loaded where it is needed (tools/serve_http.h), so of that only the headers are.
TOOLS_CFLAGS := $(shell $(PKG_CONFIG) --cflags libdw libdeflate libmicrohttpd)
# What writes profiles needs GZIP_LIBS, and the command all.
GZIP_LIBS := $(shell $(PKG_CONFIG) --libs libdeflate)
TOOLS_LIBS = $(PROTO_LIBS) $(GZIP_LIBS) $(shell $(PKG_CONFIG) --libs libdw) -lelf -liberty

all: $(B)/cprof build/cprof

# The page of `cprof flame` is part of the command: tools/flame/page.html with the files that it names put in their places.
FLAME_PARTS := $(wildcard tools/flame/*)

$(GEN)/flame.html: tools/flame/page.html $(FLAME_PARTS) tools/rules.mk
	$(call say,PAGE,$@)
	@mkdir -p $(@D)
	$(Q)awk '/^@include / { file = "tools/flame/" $$2; while ((rc = (getline line < file)) > 0) print line; \
	    if (rc < 0) { print file ": not there" > "/dev/stderr"; exit 1 } next } { print }' $< > $@

# So is that of `cprof serve`, which is made from it.
$(GEN)/serve.html: tools/flame/page.html $(FLAME_PARTS) $(wildcard tools/serve/*)
	$(call say,PAGE,$@)
	@mkdir -p $(@D)
	$(Q)awk -f tools/serve/page.awk $< > $@

PAGES := $(B)/tools/flame_html.o $(B)/tools/serve_html.o
$(PAGES): $(B)/tools/%_html.o: $(GEN)/%.html
	@mkdir -p $(@D)
	$(Q)cd $(GEN) && $(LD) -r -b binary -z noexecstack -o $(CURDIR)/$@ $*.html

$(B)/cprof: $(TOOLS_OBJS) $(PAGES) $(PROTO_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) $(LD_SAFE) $(LDFLAGS) -o $@ $^ $(TOOLS_LIBS)

$(TOOLS_OBJS): $(B)/tools/%.o: tools/%.c | $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE $(SANFLAGS) $(PROTO_CFLAGS) $(TOOLS_CFLAGS) $(CFLAGS) -c -o $@ $<

# The man page and completion say what the table of commands says.
MAN_PARTS := $(addprefix tools/man/,head.man settings.man tail.man)
TOOLS_DOCS := $(B)/man/cprof.1 $(B)/completions/cprof.bash $(B)/completions/_cprof

all: $(TOOLS_DOCS) build/man build/completions

$(B)/man/cprof.1: $(MAN_PARTS) $(B)/cprof
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/cprof help --man > $@.commands
	$(Q)sed 's/@VERSION@/$(VERSION)/' tools/man/head.man $@.commands tools/man/settings.man tools/man/tail.man > $@
	@rm -f $@.commands

$(B)/completions/cprof.bash: $(B)/cprof
	@mkdir -p $(@D)
	$(Q)$(B)/cprof help --completion bash > $@

$(B)/completions/_cprof: $(B)/cprof
	@mkdir -p $(@D)
	$(Q)$(B)/cprof help --completion zsh > $@

# The links follow the flavour that was built last, so they are renewed each time.
.PHONY: build/cprof build/man build/completions
build/man build/completions: build/%: $(TOOLS_DOCS)
	$(Q)ln -sfn $(FLAVOUR)/$* $@

build/cprof: $(B)/cprof
	$(Q)ln -sfn $(FLAVOUR)/cprof $@

-include $(TOOLS_OBJS:.o=.d)

# ---- Unit tests ----

UNIT_TESTS += $(B)/tests/unit/test_limit

LIMIT_PARTS := limit tool function_name demangle profile_comment sample_error

$(B)/tests/unit/test_limit: $(B)/tests/unit/test_limit.o $(LIMIT_PARTS:%=$(B)/tools/%.o) $(PROTO_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) $(LD_SAFE) $(LDFLAGS) -o $@ $^ $(PROTO_LIBS) -liberty -lm

$(B)/tests/unit/test_limit.o: tests/unit/test_limit.c | $(PROTO_GENERATED)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -D_GNU_SOURCE $(SANFLAGS) $(PROTO_CFLAGS) $(CFLAGS) -c -o $@ $<

-include $(B)/tests/unit/test_limit.d
