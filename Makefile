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
.PHONY: all deps demo check check-long bench install uninstall clean help compdb

all:

# proto first: the others use what it defines.
include $(sort $(wildcard proto/rules.mk)) $(filter-out proto/rules.mk,$(sort $(wildcard */rules.mk)))
