# What there is to do here. `make demo` and `make test` install what they need.

PACKAGES := libcurl4-openssl-dev libssl-dev zlib1g-dev libpsl-dev libsqlite3-dev libwslay-dev libmicrohttpd-dev libbrotli-dev \
            libzstd-dev nginx-light tinyproxy strace openssl curl ca-certificates media-types pkg-config iproute2 \
            python3 python3-venv python3-websockets
SWIFT := swift
# Of `make fuzz-run`.
TIME := 60
JOBS := 2
# Hundreds of tests that wait for servers would starve each other on two cores, until their deadlines pass.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 8
# Not the command's tests, the thousand exits and the counts: those run programs of their own, which report to nobody.
SANITIZED := --filter 'FireweedTests|FireweedTransportTests|FixtureServerTests' --skip 'ProcessExitTests|CostTests'

.PHONY: all deps build demo test lint format bench sanitize fuzz fuzz-run docs clean

all: build

# Installs the missing Debian packages; returns at once when none is missing.
deps:
	@Scripts/install-packages $(PACKAGES)

build: deps
	$(SWIFT) build

# Shows the main job against a server of our own.
demo: deps
	$(SWIFT) build -c release --product fireweed
	Scripts/demo .build/release/fireweed

test: deps
	$(SWIFT) build --build-tests
	Scripts/run-tests --skip-build

# Formatting, documentation of public declarations, and a build in which every warning is an error.
lint: deps
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Fuzz
	$(SWIFT) build --build-tests

format:
	$(SWIFT) format --in-place --parallel --recursive Package.swift Sources Tests Fuzz

bench: deps
	$(SWIFT) build -c release --product FireweedBench
	.build/release/FireweedBench

# The suite under ThreadSanitizer and AddressSanitizer, each in a build folder of its own.
sanitize: deps
	TSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/thread-sanitizer.supp halt_on_error=1" \
	    $(SWIFT) test --scratch-path .build/thread --sanitize=thread -Xswiftc -DSANITIZE_THREAD $(SANITIZED)
	ASAN_OPTIONS="detect_leaks=0" $(SWIFT) test --scratch-path .build/address --sanitize=address $(SANITIZED)

# Fuzzers for everything of ours that parses bytes from outside, into .build/fuzz/build/targets.
fuzz: deps
	Scripts/fuzz build

# Runs every fuzzer for TIME seconds, JOBS at once, and takes what they find into Fuzz/Corpus.
fuzz-run: fuzz
	TIME=$(TIME) JOBS=$(JOBS) Scripts/fuzz run

# The reference as a DocC archive in .build/docs.
docs: deps
	Scripts/make-docs .build/docs

clean:
	rm -rf .build
