# SPDX-License-Identifier: MIT
#
# Tests of libraries that know nothing of weft, with libweft-hooks, against
# servers that the tests start. For the main Makefile to include, after HOOKED
# and before the rule of `test`.
#
# A program is left out if its library's header is missing, and `make test` says
# so. Servers are looked for when the tests run. Only for this machine, with
# shared libraries; a sanitizer knows nothing of what these libraries do. `make
# REAL_TESTS=` leaves all of them out.
#
# Of each program: the headers, the Debian packages that have them, the flags.

REAL_pq		= libpq-fe.h libpq-dev -lpq
REAL_hiredis	= hiredis/hiredis.h libhiredis-dev -lhiredis
REAL_curl	= curl/curl.h,openssl/evp.h libcurl4-openssl-dev,libssl-dev \
	-lcurl -lcrypto
REAL_openssl	= openssl/ssl.h libssl-dev -lssl -lcrypto
REAL_sqlite	= sqlite3.h libsqlite3-dev -lsqlite3
REAL_zlib	= zlib.h zlib1g-dev -lz
REAL_ldap	= ldap.h libldap-dev -lldap -llber

# $(call real_headers,PROGRAM): for between __has_include(< and >)
real_next := >) && __has_include(<
real_headers = $(subst $(COMMA),$(real_next),$(firstword $(REAL_$(1))))
# $(call real_flags,PROGRAM)
real_flags = $(wordlist 3,9,$(REAL_$(1)))

REAL_WANTED := $(patsubst $(B)/tests/real/%,%,$(filter $(B)/tests/real/%,$(TESTS)))
REAL_TESTS ?= 1
ifneq ($(if $(REAL_TESTS),,no)$(SAN)$(MUSL)$(STATIC)$(filter-out $(HOST),$(ARCH))$(if $(HOOKS),,no),)
TESTS	:= $(filter-out $(B)/tests/real/%,$(TESTS))
REAL_WANTED :=
endif

# Debian has libpq's header in a folder of its own.
REAL_INCLUDE = -I$(or $(shell pg_config --includedir 2> /dev/null),\
	/usr/include/postgresql)
# The names of those whose headers the compiler finds.
REAL_FOUND := $(if $(REAL_WANTED),$(shell \
	printf '\043if __has_include(<%s>)\n%s\n\043endif\n' \
	$(foreach p,$(REAL_WANTED),'$(call real_headers,$(p))' $(p)) | \
	$(CC) $(REAL_INCLUDE) -E -P -x c -))
REAL_MISSING := $(filter-out $(REAL_FOUND),$(REAL_WANTED))
TESTS	:= $(filter-out $(REAL_MISSING:%=$(B)/tests/real/%),$(TESTS))

$(B)/tests/real/%: tests/real/%.c $(HARNESS) $(HOOKSA) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(USER) $(REAL_INCLUDE) -o $@ $< $(HARNESS) $(HOOKED) $(LIBA) \
	    $(call real_flags,$*)

test: real-missing
.PHONY: real-missing
real-missing:
	@$(foreach p,$(REAL_MISSING),echo "no tests/real/$(p): \
	    apt install $(subst $(COMMA), ,$(word 2,$(REAL_$(p))))";) true
