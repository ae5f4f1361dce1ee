# SPDX-License-Identifier: MIT
#
# The peers: the benchmark's workloads written for other runtimes. For the
# main Makefile to include, after its first target.
#
# `make peers` builds those whose toolchain is installed. For each of the
# others it says which Debian package is missing, removes what an earlier
# build left, and goes on. Every program prints one line for `version`.
# MassiveThreads has no package in Debian's stable release, and so no program.

B ?= build

PEERS := $(B)/peers
PEER_CFLAGS := -std=gnu11 -O2 -Wall -Wextra -pthread
PEER_CXXFLAGS := -std=gnu++17 -O2 -DNDEBUG -Wall -Wextra -pthread

# Tokio, Rayon and all they need, as source, where librust-tokio-dev and
# librust-rayon-dev put them.
CRATES := /usr/share/cargo/registry
CARGO_OFFLINE := --offline \
	--config 'source.crates-io.replace-with="installed"' \
	--config 'source.installed.directory="$(CRATES)"'

# $(call peer_missing,NAME,PACKAGES)
peer_missing = { echo "peers: no $(1): apt install $(2)"; rm -f $@; }

.PHONY: peers
peers: $(addprefix $(PEERS)/,go tokio boost-fiber openmp tbb rayon limit)

$(PEERS)/go: $(wildcard bench/peers/go/*.go) bench/peers/go/go.mod \
		bench/peers.mk
	@mkdir -p $(@D)
	@if ! command -v go >/dev/null; then \
		$(call peer_missing,go,golang-go); \
	else \
		echo "  GO      $@"; \
		cd bench/peers/go && GOWORK=off GOPROXY=off GOTOOLCHAIN=local \
			go build -buildvcs=false -o $(abspath $@) .; \
	fi

# For bench/http/run, which says itself what is missing.
$(PEERS)/go-http: bench/http/go/main.go bench/http/go/go.mod bench/peers.mk
	@mkdir -p $(@D)
	@if ! command -v go >/dev/null; then \
		rm -f $@; \
	else \
		echo "  GO      $@"; \
		cd bench/http/go && GOWORK=off GOPROXY=off GOTOOLCHAIN=local \
			go build -buildvcs=false -o $(abspath $@) .; \
	fi

# Cargo writes a Cargo.lock beside Cargo.toml, so it works on a copy. A crate
# package that does not fit the compiler is no reason to stop either.
$(PEERS)/tokio $(PEERS)/rayon: $(PEERS)/%: bench/peers/%/main.rs \
		bench/peers/%/Cargo.toml bench/peers.mk
	@mkdir -p $@.d
	@if ! command -v cargo >/dev/null || ! ls -d $(CRATES)/$*-[0-9]* \
			>/dev/null 2>&1; then \
		$(call peer_missing,$*,cargo librust-$*-dev); \
	elif echo "  CARGO   $@"; rm -f $@.d/Cargo.lock; \
			cp $(filter-out %.mk,$^) $@.d && cd $@.d && \
			export PEER_VERSION=$$(ls -d $(CRATES)/$*-[0-9]* | \
			sed 's/.*-//;q') && \
			cargo build $(CARGO_OFFLINE) --release \
			--target-dir target >build.log 2>&1; then \
		cp -f target/release/peer-$* $(abspath $@); \
	else \
		echo "peers: no $*: cargo failed, see $@.d/build.log"; \
		rm -f $(abspath $@); \
	fi

$(PEERS)/boost-fiber: bench/peers/boost-fiber/fiber.cc bench/peers/peer.h \
		bench/peers.mk
	@mkdir -p $(@D)
	@if ! echo '#include <boost/fiber/fiber.hpp>' | \
			$(CXX) -E -x c++ -o /dev/null - 2>/dev/null; then \
		$(call peer_missing,boost-fiber,g++ libboost-fiber-dev); \
	else \
		echo "  CXX     $@"; \
		$(CXX) $(PEER_CXXFLAGS) -o $@ $< \
			-lboost_fiber -lboost_context; \
	fi

# libgomp comes with gcc; another compiler may lack it.
$(PEERS)/openmp: bench/peers/openmp/omp.c bench/peers/peer.h bench/peers.mk
	@mkdir -p $(@D)
	@if ! echo 'int main(void) { return 0; }' | $(CC) -fopenmp -include \
			omp.h -x c -o $@ - 2>/dev/null; then \
		$(call peer_missing,openmp,gcc (or libomp-dev for clang)); \
	else \
		echo "  CC      $@"; \
		$(CC) $(PEER_CFLAGS) -fopenmp -o $@ $<; \
	fi

$(PEERS)/tbb: bench/peers/tbb/tbb.cc bench/peers/peer.h bench/peers.mk
	@mkdir -p $(@D)
	@if ! echo '#include <oneapi/tbb.h>' | \
			$(CXX) -E -x c++ -o /dev/null - 2>/dev/null; then \
		$(call peer_missing,tbb,g++ libtbb-dev); \
	else \
		echo "  CXX     $@"; \
		$(CXX) $(PEER_CXXFLAGS) -o $@ $< -ltbb; \
	fi

$(PEERS)/limit: bench/peers/limit/limit.c bench/peers/peer.h \
    bench/files_data.h bench/peers.mk
	@mkdir -p $(@D)
	@echo "  CC      $@"
	@$(CC) $(PEER_CFLAGS) -o $@ $<
