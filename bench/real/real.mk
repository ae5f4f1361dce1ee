# SPDX-License-Identifier: MIT
#
# Programs as people write them, against libraries of others, for
# bench/real/run. For the main Makefile to include, after its first target.
#
# `make real` builds those whose library is installed. For the others
# bench/real/run says which Debian package is missing.

REAL	= $(B)/real
PQ	= -I$(shell pg_config --includedir 2>/dev/null) -lpq

# $(call has,HEADER,FLAGS)
has = $(CC) -E -x c $(2) -include $(1) -o /dev/null /dev/null 2>/dev/null

.PHONY: real bench-real
real: $(REAL)/pg-server $(REAL)/pg-queries $(REAL)/hashes

bench-real: real
	B=$(B) bench/real/run $(BENCHFLAGS)

$(REAL)/pg-server: bench/real/server.c $(HTTP) $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	@if $(call has,libpq-fe.h,$(PQ)); then $(CC) $(USER) \
	    -iquote examples/http -o $@ $(filter-out %.h,$^) $(PQ); fi

$(REAL)/pg-queries: bench/real/queries.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	@if $(call has,libpq-fe.h,$(PQ)); then $(CC) $(USER) -o $@ \
	    $(filter-out %.h,$^) $(PQ); fi

$(REAL)/hashes: bench/real/hashes.c bench/foreign/activity.c $(LIBA)
	@mkdir -p $(@D)
	$(call say,CC)
	@if $(call has,openssl/evp.h,); then $(CC) $(USER) \
	    -iquote bench/foreign -o $@ $(filter-out %.h,$^) -lcrypto; fi

-include $(wildcard $(REAL)/*.d)
