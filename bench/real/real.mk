# SPDX-License-Identifier: MIT
#
# Programs as people write them, against libraries of others, for
# bench/real/run. For the main Makefile to include, after its first target.
#
# `make real` builds those whose library is installed. For the others
# bench/real/run says which Debian package is missing. A program NAME-hooked is
# NAME linked with hooks.

REAL	= $(B)/real
USAGE	= bench/real/usage.c bench/real/usage.h
PQ	= -I$(shell pg_config --includedir 2>/dev/null) -lpq
REAL_HOOKED = $(if $(HOOKS),$(addsuffix -hooked,$(addprefix $(REAL)/,pg-server \
	pg-queries redis-asks hook-costs $(if $(TLS),tls-server))))
REAL_ALL = $(addprefix $(REAL)/,pg-server pg-queries redis-asks hook-costs \
	hashes $(if $(TLS),tls-server tls-load)) $(REAL_HOOKED)

# $(call has,HEADER,FLAGS)
has = $(CC) -E -x c $(2) -include $(1) -o /dev/null /dev/null 2>/dev/null
# $(call link,HEADER,FLAGS): the program, if the header is there. Hooks stand
# before the libraries of weft.
link = @mkdir -p $(@D); if $(call has,$(1),$(2)); then $(CC) $(USER) \
	-iquote examples/http -iquote bench/foreign -o $@ \
	$(filter %.c %.o,$^) $(if $(filter %-hooked,$@),$(HOOKED)) \
	$(filter-out $(HOOKSA),$(filter %.a,$^)) $(2); fi

.PHONY: real bench-real
real: $(REAL_ALL)

bench-real: real
	B=$(B) bench/real/run $(BENCHFLAGS)

$(REAL_ALL): bench/real/real.mk
$(REAL_HOOKED): $(HOOKSA)

$(REAL)/pg-server $(REAL)/pg-server-hooked: bench/real/server.c $(HTTP) $(LIBA)
	$(call say,CC)
	$(call link,libpq-fe.h,$(PQ))

$(REAL)/pg-queries $(REAL)/pg-queries-hooked: bench/real/queries.c $(USAGE) \
		$(LIBA)
	$(call say,CC)
	$(call link,libpq-fe.h,$(PQ))

$(REAL)/redis-asks $(REAL)/redis-asks-hooked: bench/real/redis.c $(USAGE) \
		$(LIBA)
	$(call say,CC)
	$(call link,hiredis/hiredis.h,-lhiredis)

$(REAL)/tls-server $(REAL)/tls-server-hooked: bench/real/tls_server.c \
		$(TLSA) $(LIBA)
	$(call say,CC)
	$(call link,openssl/ssl.h,$(TLSLIBS))

$(REAL)/tls-load: bench/real/tls_load.c $(USAGE)
	$(call say,CC)
	$(call link,openssl/ssl.h,$(TLSLIBS))

$(REAL)/hook-costs $(REAL)/hook-costs-hooked: bench/real/costs.c $(LIBA)
	$(call say,CC)
	$(call link,pthread.h,)

$(REAL)/hashes: bench/real/hashes.c bench/foreign/activity.c $(LIBA)
	$(call say,CC)
	$(call link,openssl/evp.h,-lcrypto)

-include $(wildcard $(REAL)/*.d)
