# Every target is a short way to a script or a cargo command; `make` alone lists them.
PREFIX  ?= /usr/local
DESTDIR ?=
# Where the public libraries go.
LIBDIR  ?= $(PREFIX)/lib
# The folder to benchmark with; without one, parcomp bench chooses.
CORPUS  ?=
# make run: a file of yours in place of one made here.
INPUT   ?=
# make test: some steps only, e.g. STEPS="fmt clippy".
STEPS   ?=
# make release: three numbers, as 0.1.0.
VERSION ?=
# make packages: another architecture, as arm64.
ARCH    ?=
# make tune, bench-sym, bench-scan, bench-tls, bench-shared, bench-speed, hadoop: options of theirs.
ARGS    ?=

target  := $(or $(CARGO_TARGET_DIR),target)
release := $(target)/release
version := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# The number of the C interfaces: it changes when a program must be compiled again.
ABI     := 0
# What `make build` leaves for `make install`.
stage   := $(target)/stage

.PHONY: help run test test-deep tune bench bench-sym bench-scan bench-xml bench-tls bench-shared bench-speed bench-bulk hadoop build install uninstall packages release fuzz clean

help:
	@echo 'make run            compress a real file through the CPU device, verified, beside zlib'
	@echo '     INPUT=FILE     ... this one'
	@echo 'make test           the whole suite; STEPS="fmt clippy" for some steps'
	@echo 'make test-deep      the same for hours: long fuzzing, a million simulations'
	@echo 'make bench          the figures of parcomp and the benches; CORPUS=DIR'
	@echo 'make bench-sym      every symmetric algorithm beside its rivals; ARGS="--only AES"'
	@echo 'make tune           who serves each symmetric algorithm the fastest here: writes the table'
	@echo 'make bench-scan     sets of patterns beside Hyperscan and Vectorscan, with a chart; ARGS=real: rules of packages'
	@echo 'make bench-xml      XML to events and trees, XPath, XML Schema, beside libxml2 and others; DOCUMENTS=DIR'
	@echo 'make bench-tls      TLS handshakes of HAProxy with our provider beside plain OpenSSL'
	@echo 'make bench-shared   nginx with many workers and many openssl speed, with lookaside serve, beside plain OpenSSL'
	@echo 'make bench-speed    the tables of openssl speed, likewise; ARGS="--help" for options of both'
	@echo 'make bench-bulk     downloads over HAProxy with our provider beside plain OpenSSL'
	@echo 'make hadoop         TextSort on a Hadoop cluster: the CPU time with our zlib and without'
	@echo 'make build          everything that is installed, in release; STRIP=no'
	@echo 'make install        PREFIX=/usr/local, DESTDIR=: copies what make build has made'
	@echo 'make uninstall      removes what install put there'
	@echo 'make packages       Debian packages, a tarball, a container file; ARCH=arm64: cross-built'
	@echo 'make release        VERSION=0.1.0: version, changelog, commit, packages, tag; pushes nothing'
	@echo 'make fuzz           TARGET=decoder SECONDS=600 (see scripts/fuzz)'
	@echo 'make clean          removes what was built'

run:
	@INPUT='$(INPUT)' scripts/run

test:
	@scripts/test $(STEPS)

# The times of scripts/test, long enough for a night.
test-deep:
	FUZZ_SECONDS=60 FUZZ_SEED=$$(date +%s) ZLIB_FUZZ_SECONDS=7200 ZLIB_FUZZ_SEED=$$(date +%s)000000 TORTURE_SECONDS=600 SOAK_SECONDS=600 SOAK_SEED=$$(date +%s) LOOKASIDE_SIM_SEEDS=1000000 LOOKASIDE_SCAN_SECONDS=3600 LOOKASIDE_SCAN_DEEP=10000000 \
		LOOKASIDE_SCAN_START=$$(date +%s)000000 LOOKASIDE_SCAN_CASES=20000 GATED_CASES=10000 FALLBACK_CASES=100000 LOOKASIDE_XML_SECONDS=600 LOOKASIDE_SEEDS=20000 LOOKASIDE_SIZES=all \
		PROFILE=release CAPS=all SWEEP=all OTHERS=all QUICKASSIST=all \
		STEP_SECONDS=0 \
		scripts/test $(STEPS)
	$(if $(STEPS),,scripts/fuzz smoke 900)
	$(if $(STEPS),,cargo test --release --locked -p lookaside-compress --test chains --test streams -- --ignored --test-threads 1)
	$(if $(STEPS),,scripts/secrets)
	$(if $(STEPS),,scripts/memcheck)
	$(if $(STEPS),,scripts/packages && scripts/check-packages)

bench:
	scripts/setup build
	cargo build --release --locked -p parcomp
	$(release)/parcomp bench --out $(target)/bench $(if $(CORPUS),--corpus '$(CORPUS)')
	cargo bench --locked -p lookaside-bench --bench offload

bench-sym:
	@scripts/bench-sym $(ARGS)

tune:
	@scripts/tune $(ARGS)

bench-scan:
	@scripts/bench-scan $(ARGS)

bench-xml:
	@scripts/bench-xml '$(DOCUMENTS)'

bench-tls:
	@scripts/bench-tls $(ARGS)

bench-shared:
	@scripts/bench-shared $(ARGS)

bench-speed:
	@scripts/bench-openssl-speed $(ARGS)

bench-bulk:
	@scripts/bench-bulk $(ARGS)

hadoop:
	@scripts/hadoop compare $(ARGS)

build:
	scripts/setup build
	scripts/stage

# Copies what `make build` has made: needs neither cargo nor a compiler, so that root can do it.
install:
	@DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' scripts/install '$(stage)' '$(PREFIX)' '$(version)' '$(ABI)'
	@echo 'Installed under $(DESTDIR)$(PREFIX). If a program does not find the libraries: ldconfig, or'
	@echo 'LD_LIBRARY_PATH=$(LIBDIR). For OpenSSL programs:'
	@echo 'OPENSSL_CONF=$(PREFIX)/lib/lookaside/openssl/openssl.cnf'

uninstall:
	@DESTDIR='$(DESTDIR)' scripts/install --remove '$(PREFIX)'

packages:
	@ARCH='$(ARCH)' scripts/packages

release:
	@scripts/release $(VERSION)

fuzz:
	scripts/fuzz $(if $(TARGET),run $(TARGET) $(SECONDS),smoke $(SECONDS))

clean:
	rm -rf $(target)
