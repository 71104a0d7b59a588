# Every target is a short way to a script or a cargo command; `make` alone lists them.
PREFIX  ?= /usr/local
DESTDIR ?=
# The folder to benchmark with; without one, parcomp bench chooses.
CORPUS  ?=
# make run: a file of yours in place of one made here.
INPUT   ?=
# make test: some steps only, e.g. STEPS="fmt clippy".
STEPS   ?=
# make bench-sym, bench-tls, bench-speed, hadoop: options of theirs.
ARGS    ?=

target  := $(or $(CARGO_TARGET_DIR),target)
release := $(target)/release
version := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# The number of the C interfaces: it changes when a program must be compiled again.
ABI     := 0
root    := $(DESTDIR)$(PREFIX)

.PHONY: help run test bench bench-sym bench-tls bench-speed bench-bulk hadoop build install uninstall fuzz clean

help:
	@echo 'make run            compress a real file through the CPU device, verified, beside zlib'
	@echo '     INPUT=FILE     ... this one'
	@echo 'make test           the whole suite; STEPS="fmt clippy" for some steps'
	@echo 'make bench          the figures of parcomp and the benches; CORPUS=DIR'
	@echo 'make bench-sym      every symmetric algorithm beside its rivals; ARGS="--only AES"'
	@echo 'make bench-tls      TLS handshakes of HAProxy with our provider beside plain OpenSSL'
	@echo 'make bench-speed    the tables of openssl speed, likewise; ARGS="--help" for options of both'
	@echo 'make bench-bulk     downloads over HAProxy with our provider beside plain OpenSSL'
	@echo 'make hadoop         TextSort on a Hadoop cluster: the CPU time with our zlib and without'
	@echo 'make build          everything that is installed, in release'
	@echo 'make install        PREFIX=/usr/local, DESTDIR='
	@echo 'make uninstall      removes what install put there'
	@echo 'make fuzz           TARGET=decoder SECONDS=600 (see scripts/fuzz)'
	@echo 'make clean          removes what was built'

run:
	@INPUT='$(INPUT)' scripts/run

test:
	@scripts/test $(STEPS)

bench:
	scripts/setup build
	cargo build --release --locked -p parcomp
	$(release)/parcomp bench --out $(target)/bench $(if $(CORPUS),--corpus '$(CORPUS)')
	cargo bench --locked -p lookaside-bench --bench offload

bench-sym:
	@scripts/bench-sym $(ARGS)

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
	cargo build --release --locked -p parcomp -p cf -p lookaside-capi -p lookaside-cli \
		-p lookaside-openssl
	scripts/build-zlib release

install: build
	install -d '$(root)/bin' '$(root)/include' '$(root)/lib/pkgconfig'
	install -m 755 $(release)/parcomp $(release)/lookaside '$(root)/bin'
	install -m 644 crates/capi/include/lookaside.h front/parcomp/cf/include/cf.h '$(root)/include'
	install -m 755 $(release)/liblookaside_capi.so '$(root)/lib/liblookaside.so.$(ABI)'
	ln -sf liblookaside.so.$(ABI) '$(root)/lib/liblookaside.so'
	install -m 755 $(release)/libcf.so '$(root)/lib/libcf.so.$(ABI)'
	ln -sf libcf.so.$(ABI) '$(root)/lib/libcf.so'
	install -d '$(root)/lib/lookaside/openssl'
	install -m 755 $(release)/liblookaside_provider.so '$(root)/lib/lookaside/openssl/lookaside.so'
	install -d '$(root)/lib/lookaside/zlib'
	install -m 755 $(release)/zlib/libz.so.1 '$(root)/lib/lookaside/zlib/libz.so.1'
	sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(version)|g' crates/capi/lookaside.pc.in \
		> '$(root)/lib/pkgconfig/lookaside.pc'
	@echo 'Installed under $(root). If a program does not find the libraries: ldconfig, or'
	@echo 'LD_LIBRARY_PATH=$(PREFIX)/lib'

uninstall:
	rm -f '$(root)/bin/parcomp' '$(root)/bin/lookaside'
	rm -f '$(root)/include/lookaside.h' '$(root)/include/cf.h'
	rm -f '$(root)/lib/liblookaside.so' '$(root)/lib/liblookaside.so.$(ABI)'
	rm -f '$(root)/lib/libcf.so' '$(root)/lib/libcf.so.$(ABI)' '$(root)/lib/pkgconfig/lookaside.pc'
	rm -f '$(root)/lib/lookaside/openssl/lookaside.so' '$(root)/lib/lookaside/zlib/libz.so.1'

fuzz:
	scripts/fuzz $(if $(TARGET),run $(TARGET) $(SECONDS),smoke $(SECONDS))

clean:
	rm -rf $(target)
