# Every target is a short way to a script or a cargo command; `make` alone lists them.
PREFIX  ?= /usr/local
DESTDIR ?=
# The folder to benchmark with; without one, parcomp bench chooses.
CORPUS  ?=
# make run: a file of yours in place of one made here.
INPUT   ?=
# make test: some steps only, e.g. STEPS="fmt clippy".
STEPS   ?=
# make tune, bench-sym, bench-scan, bench-tls, bench-speed, hadoop: options of theirs.
ARGS    ?=

target  := $(or $(CARGO_TARGET_DIR),target)
release := $(target)/release
version := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# The number of the C interfaces: it changes when a program must be compiled again.
ABI     := 0
root    := $(DESTDIR)$(PREFIX)
doc     := $(root)/share/doc/lookaside
# What `make build` leaves for `make install`.
stage   := $(target)/stage
staged  := bin/parcomp bin/lookaside lib/liblookaside.so lib/libcf.so \
           lib/lookaside/openssl/lookaside.so lib/lookaside/zlib/libz.so.1 lib/lookaside/hyperscan/libhs.so.5 \
           lib/lookaside/expat/libexpat.so.1 \
           lib/lookaside/qat/libqat.so.4 lib/lookaside/qat/libusdm.so.0
fill    := sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(version)|g'

.PHONY: help run test test-deep tune bench bench-sym bench-scan bench-xml bench-tls bench-speed bench-bulk hadoop build install uninstall fuzz clean

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
	@echo 'make bench-speed    the tables of openssl speed, likewise; ARGS="--help" for options of both'
	@echo 'make bench-bulk     downloads over HAProxy with our provider beside plain OpenSSL'
	@echo 'make hadoop         TextSort on a Hadoop cluster: the CPU time with our zlib and without'
	@echo 'make build          everything that is installed, in release; STRIP=no'
	@echo 'make install        PREFIX=/usr/local, DESTDIR=: copies what make build has made'
	@echo 'make uninstall      removes what install put there'
	@echo 'make fuzz           TARGET=decoder SECONDS=600 (see scripts/fuzz)'
	@echo 'make clean          removes what was built'

run:
	@INPUT='$(INPUT)' scripts/run

test:
	@scripts/test $(STEPS)

# The times of scripts/test, long enough for a night.
test-deep:
	FUZZ_SECONDS=900 ZLIB_FUZZ_SECONDS=7200 ZLIB_FUZZ_SEED=$$(date +%s)000000 TORTURE_SECONDS=600 LOOKASIDE_SIM_SEEDS=1000000 LOOKASIDE_SCAN_SECONDS=3600 LOOKASIDE_SCAN_DEEP=10000000 \
		LOOKASIDE_SCAN_START=$$(date +%s)000000 OTHERS=all QUICKASSIST=all \
		STEP_SECONDS=0 \
		scripts/test $(STEPS)
	$(if $(STEPS),,scripts/memcheck)

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
	@for file in $(staged); do test -e "$(stage)/$$file" || { \
		echo "install: $(stage)/$$file is missing; run 'make build' first, as the user who has cargo" >&2; \
		exit 1; }; done
	install -d '$(root)/bin' '$(root)/include' '$(root)/lib/pkgconfig' '$(doc)'
	install -m 755 $(stage)/bin/parcomp $(stage)/bin/lookaside '$(root)/bin'
	ln -sf parcomp '$(root)/bin/pargzip'
	install -m 644 crates/capi/include/lookaside.h front/parcomp/cf/include/cf.h '$(root)/include'
	install -m 755 $(stage)/lib/liblookaside.so '$(root)/lib/liblookaside.so.$(ABI)'
	ln -sf liblookaside.so.$(ABI) '$(root)/lib/liblookaside.so'
	install -m 755 $(stage)/lib/libcf.so '$(root)/lib/libcf.so.$(ABI)'
	ln -sf libcf.so.$(ABI) '$(root)/lib/libcf.so'
	install -d '$(root)/lib/lookaside/openssl' '$(root)/lib/lookaside/zlib'
	install -m 755 $(stage)/lib/lookaside/openssl/lookaside.so '$(root)/lib/lookaside/openssl'
	$(fill) front/openssl/openssl.cnf.in > '$(root)/lib/lookaside/openssl/openssl.cnf'
	install -m 755 $(stage)/lib/lookaside/zlib/libz.so.1 '$(root)/lib/lookaside/zlib'
	install -d '$(root)/lib/lookaside/expat' '$(root)/lib/lookaside/hyperscan'
	install -m 755 $(stage)/lib/lookaside/expat/libexpat.so.1 '$(root)/lib/lookaside/expat'
	install -m 755 $(stage)/lib/lookaside/hyperscan/libhs.so.5 '$(root)/lib/lookaside/hyperscan'
	ln -sf libhs.so.5 '$(root)/lib/lookaside/hyperscan/libhs_runtime.so.5'
	install -d '$(root)/lib/lookaside/qat/pkgconfig' '$(root)/include/lookaside-qat/qat'
	install -m 755 $(stage)/lib/lookaside/qat/libqat.so.4 $(stage)/lib/lookaside/qat/libusdm.so.0 '$(root)/lib/lookaside/qat'
	ln -sf libqat.so.4 '$(root)/lib/lookaside/qat/libqat.so'
	ln -sf libusdm.so.0 '$(root)/lib/lookaside/qat/libusdm.so'
	install -m 644 front/qat/include/*.h '$(root)/include/lookaside-qat/qat'
	$(fill) front/qat/qatlib.pc.in > '$(root)/lib/lookaside/qat/pkgconfig/qatlib.pc'
	$(fill) front/qat/libusdm.pc.in > '$(root)/lib/lookaside/qat/pkgconfig/libusdm.pc'
	$(fill) crates/capi/lookaside.pc.in > '$(root)/lib/pkgconfig/lookaside.pc'
	$(fill) front/parcomp/cf/cf.pc.in > '$(root)/lib/pkgconfig/cf.pc'
	install -m 644 LICENSE-APACHE LICENSE-MIT THIRD-PARTY-NOTICES '$(doc)'
	@echo 'Installed under $(root). If a program does not find the libraries: ldconfig, or'
	@echo 'LD_LIBRARY_PATH=$(PREFIX)/lib. For OpenSSL programs:'
	@echo 'OPENSSL_CONF=$(PREFIX)/lib/lookaside/openssl/openssl.cnf'

uninstall:
	rm -f '$(root)/bin/parcomp' '$(root)/bin/pargzip' '$(root)/bin/lookaside'
	rm -f '$(root)/include/lookaside.h' '$(root)/include/cf.h'
	rm -f '$(root)/lib/liblookaside.so' '$(root)/lib/liblookaside.so.$(ABI)'
	rm -f '$(root)/lib/libcf.so' '$(root)/lib/libcf.so.$(ABI)'
	rm -f '$(root)/lib/pkgconfig/lookaside.pc' '$(root)/lib/pkgconfig/cf.pc'
	rm -f '$(root)/lib/lookaside/openssl/lookaside.so' '$(root)/lib/lookaside/openssl/openssl.cnf'
	rm -f '$(root)/lib/lookaside/zlib/libz.so.1'
	rm -f '$(root)/lib/lookaside/expat/libexpat.so.1'
	rm -f '$(root)/lib/lookaside/hyperscan/libhs.so.5' '$(root)/lib/lookaside/hyperscan/libhs_runtime.so.5'
	rm -f '$(root)'/lib/lookaside/qat/libqat.so* '$(root)'/lib/lookaside/qat/libusdm.so*
	rm -f '$(root)/lib/lookaside/qat/pkgconfig/qatlib.pc' '$(root)/lib/lookaside/qat/pkgconfig/libusdm.pc'
	rm -f $(addprefix '$(root)/include/lookaside-qat/qat/',$(notdir $(wildcard front/qat/include/*.h)))
	rm -f '$(doc)/LICENSE-APACHE' '$(doc)/LICENSE-MIT' '$(doc)/THIRD-PARTY-NOTICES'
	@for folder in lib/lookaside/openssl lib/lookaside/zlib lib/lookaside/expat lib/lookaside/hyperscan lib/lookaside/qat/pkgconfig lib/lookaside/qat lib/lookaside \
		include/lookaside-qat/qat include/lookaside-qat share/doc/lookaside; do \
		test ! -d '$(root)'/$$folder || rmdir --ignore-fail-on-non-empty '$(root)'/$$folder; done

fuzz:
	scripts/fuzz $(if $(TARGET),run $(TARGET) $(SECONDS),smoke $(SECONDS))

clean:
	rm -rf $(target)
