# SPDX-License-Identifier: Apache-2.0
# One Makefile for all of it. `make help` lists the targets.
#
#   FLAVOUR=release|debug|asan|tsan   what to build; objects go to build/FLAVOUR/, the usual names are links in build/
#   SANITIZE=address,undefined        (or thread) sanitizers for tools and unit tests; picks its own flavour
#   DEVELOPER=1                       warnings are errors
#   V=1                               show the commands

VERSION := 0.1.0

CC ?= gcc
CXX ?= g++
PROTOC_C ?= protoc-c
PKG_CONFIG ?= pkg-config
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
BINDIR ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/cprof
DESTDIR ?=

SANITIZE ?=
comma := ,
ifneq ($(SANITIZE),)
FLAVOUR ?= san-$(subst $(comma),-,$(SANITIZE))
else
FLAVOUR ?= release
endif
B := build/$(FLAVOUR)
GEN := $(B)/gen

OPT ?= -O2 -g
CFLAGS ?=
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef -Wvla
WARN += $(if $(DEVELOPER),-Werror)
SANFLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
BASE := -std=gnu11 $(OPT) $(WARN) -I. -I$(GEN) -DCPROF_VERSION='"$(VERSION)"' -MMD -MP
LD_SAFE := -Wl,-z,defs -Wl,-z,now -Wl,-z,relro

Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-8s %s\n' $(1) $(2))

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all deps deps-long demo check check-long bench install uninstall clean help compdb

all: ## build the library and its backend, the command cprof and the workloads (the default)

# proto first: the others use what it defines. tests last: they use what the others define.
PARTS := $(filter-out proto/rules.mk tests/rules.mk,$(sort $(wildcard */rules.mk)))
include $(wildcard proto/rules.mk) $(PARTS) $(wildcard tests/rules.mk)

check: deps ## build and test everything
	$(build_all)
	$(Q)$(PROVE) $(PROVE_FLAGS) $(SANITIZED_TESTS) $(TESTS)

check-long: deps-long ## the same, longer, and what takes minutes (HOURS=1: the hammer for an hour)
	$(build_all)
	$(Q)HAMMER_SECONDS=30 $(PROVE) $(PROVE_FLAGS) $(SANITIZED_TESTS) $(TESTS) $(LONG_TESTS)

deps: ## install the Debian packages that are missing
	$(Q)tools/deps.sh

deps-long: ## the same, with those of check-long
	$(Q)tools/deps.sh --long

# What comes after deps is a make of its own: the compiler and pkg-config may not have been there when this one started.
AGAIN := +$(Q)$(MAKE) --no-print-directory

DEMO := build/demo/message_batch.pb.gz
demo: deps ## profile a workload and show what pprof says
	$(AGAIN) all
	$(Q)mkdir -p $(dir $(DEMO))
	$(Q)LD_PRELOAD=$(CURDIR)/build/libcprof.so CPROF_RATE=1 CPROF_OUT=$(DEMO) build/workloads/message_batch growing
	$(Q)go tool pprof -top -alloc_space -unit=kB $(DEMO)

LIBS := libcprof.so libcprof-backend.so
BASH_COMPLETION_DIR ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETION_DIR ?= $(PREFIX)/share/zsh/site-functions
SYSTEMD_SYSTEM_DIR ?= $(PREFIX)/lib/systemd/system
SYSTEMD_USER_DIR ?= $(PREFIX)/lib/systemd/user
# So that LD_PRELOAD=libcprof.so finds it, where that is one of the directories that the loader knows.
LDCONFIG ?= /sbin/ldconfig
UNITS = $(SYSTEMD_USER_DIR)/cprof-serve.service $(SYSTEMD_SYSTEM_DIR)/cprof-serve@.service
install: all ## install below PREFIX (/usr/local); see also LIBDIR, BINDIR, INCLUDEDIR, MANDIR, DOCDIR, DESTDIR
	$(Q)install -d $(addprefix $(DESTDIR),$(LIBDIR) $(BINDIR) $(INCLUDEDIR) $(MANDIR)/man1 $(BASH_COMPLETION_DIR) $(ZSH_COMPLETION_DIR) \
	    $(DOCDIR) $(SYSTEMD_SYSTEM_DIR) $(SYSTEMD_USER_DIR))
	$(Q)install -m 755 $(LIBS:%=$(B)/%) $(DESTDIR)$(LIBDIR)
	$(Q)install -m 755 $(B)/cprof $(DESTDIR)$(BINDIR)
	$(Q)install -m 644 preload/cprof.h $(DESTDIR)$(INCLUDEDIR)
	$(Q)install -m 644 $(B)/man/cprof.1 $(DESTDIR)$(MANDIR)/man1
	$(Q)install -m 644 $(B)/completions/cprof.bash $(DESTDIR)$(BASH_COMPLETION_DIR)/cprof
	$(Q)install -m 644 $(B)/completions/_cprof $(DESTDIR)$(ZSH_COMPLETION_DIR)
	$(Q)install -m 644 tools/serve/README.md $(DESTDIR)$(DOCDIR)/serve.md
	$(Q)for unit in $(UNITS); do \
	    sed 's|@BINDIR@|$(BINDIR)|; s|@DOCDIR@|$(DOCDIR)|' tools/serve/$${unit##*/}.in > $(DESTDIR)$$unit && \
	    chmod 644 $(DESTDIR)$$unit || exit; done
	$(Q)$(if $(DESTDIR),,! $(LDCONFIG) -N -X -v 2> /dev/null | grep -q '^$(LIBDIR):' || $(LDCONFIG) || true)
	@echo '  installed: cprof run ./program, or LD_PRELOAD=$(LIBDIR)/libcprof.so ./program'

uninstall: ## remove what install put there
	$(Q)rm -f $(LIBS:%=$(DESTDIR)$(LIBDIR)/%) $(DESTDIR)$(BINDIR)/cprof $(DESTDIR)$(INCLUDEDIR)/cprof.h
	$(Q)rm -f $(DESTDIR)$(MANDIR)/man1/cprof.1 $(DESTDIR)$(BASH_COMPLETION_DIR)/cprof $(DESTDIR)$(ZSH_COMPLETION_DIR)/_cprof
	$(Q)rm -f $(UNITS:%=$(DESTDIR)%) $(DESTDIR)$(DOCDIR)/serve.md
	$(Q)rmdir $(DESTDIR)$(DOCDIR) 2> /dev/null || true

clean: ## remove all that was built
	$(Q)rm -rf build compile_commands.json

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1 /p' $(MAKEFILE_LIST) | while read -r target text; do \
	    printf '  %-12s %s\n' "$$target" "$$text"; done

compdb: ## compile_commands.json, for editors
	$(Q)$(MAKE) -nB V=1 all $(UNIT_TESTS) $(TEST_PROGRAMS) | awk -v dir='$(CURDIR)' ' \
	    { file = ""; for (i = 2; i <= NF; i++) if ($$i ~ /\.(c|cc)$$/) file = $$i } \
	    file && / -o / { gsub(/[\\"]/, "\\\\&"); \
	        printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", (n++ ? ",\n" : "[\n"), dir, file, $$0 } \
	    END { print "\n]" }' > compile_commands.json
