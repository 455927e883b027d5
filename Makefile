# What there is to do here. `make demo` and `make test` install what they need.

PACKAGES := libcurl4-openssl-dev libssl-dev zlib1g-dev libpsl-dev libsqlite3-dev libwslay-dev libnghttp2-dev libmicrohttpd-dev \
            libbrotli-dev libzstd-dev nginx-light tinyproxy strace openssl curl ca-certificates media-types pkg-config iproute2 \
            python3 python3-venv python3-websockets
SWIFT := swift
# The runtime goes into programs: they start in half the time, and run where no toolchain is.
OPTIMISED := -c release --static-swift-stdlib
# Of `make fuzz-run` and `make chaos`.
TIME := 60
JOBS := 2
# Hundreds of tests that wait for servers would starve each other on two cores, until their deadlines pass.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 8
# Not the command's tests, the thousand exits, the counts and the chaos: those run programs of their own, which report to nobody.
SANITIZED := --filter 'FireweedTests|FireweedTransportTests|FixtureServerTests' --skip 'ProcessExitTests|CostTests|ChaosTests'

.PHONY: all deps python build demo test compatibility autobahn lint format bench sanitize fuzz fuzz-run chaos docs clean

all: build

# Installs the missing Debian packages; returns at once when none is missing.
deps:
	@Scripts/install-packages $(PACKAGES)

# The Python packages that tests use where they can be had; Debian's do otherwise.
python: deps
	@Scripts/make-python .build/python

build: deps
	$(SWIFT) build

# Shows the main job against a server of our own.
demo: deps
	$(SWIFT) build $(OPTIMISED) --product fireweed
	Scripts/demo .build/release/fireweed

test: deps python
	$(SWIFT) build --build-tests
	Scripts/run-tests --skip-build
	# What FireweedTesting gives to tests with XCTest.
	$(SWIFT) test --skip-build --disable-swift-testing --quiet
	Scripts/check-compatibility

# Code in the shapes that apps have, built against the product `Alamofire` in both language modes, and run against a server.
compatibility: deps
	$(SWIFT) build --product fireweed
	Scripts/check-compatibility

# Every case of the Autobahn test suite, of which `make test` plays all but the largest compressed messages.
autobahn: deps python
	$(SWIFT) build --build-tests
	FIREWEED_AUTOBAHN=all $(SWIFT) test --skip-build --filter AutobahnTests

# Formatting, documentation of public declarations, cycles between folders, the width of comments, a build in which
# every warning is an error, and Alamofire's names.
lint: deps
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Fuzz
	Scripts/check-cycles
	Scripts/check-comments
	$(SWIFT) build --build-tests
	Scripts/check-names

format:
	$(SWIFT) format --in-place --parallel --recursive Package.swift Sources Tests Fuzz

bench: deps
	$(SWIFT) build $(OPTIMISED) --product FireweedBench
	$(SWIFT) build $(OPTIMISED) --product fireweed
	.build/release/FireweedBench

# The suite under ThreadSanitizer and AddressSanitizer, each in a build folder of its own.
sanitize: deps python
	TSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/thread-sanitizer.supp halt_on_error=1" \
	    $(SWIFT) test --scratch-path .build/thread --sanitize=thread -Xswiftc -DSANITIZE_THREAD $(SANITIZED)
	ASAN_OPTIONS="detect_leaks=0" \
	    $(SWIFT) test --scratch-path .build/address --sanitize=address -Xswiftc -DSANITIZE_ADDRESS $(SANITIZED)

# Fuzzers for everything of ours that parses bytes from outside, into .build/fuzz/build/targets.
fuzz: deps
	Scripts/fuzz build

# Runs every fuzzer for TIME seconds, JOBS at once, and takes what they find into Fuzz/Corpus.
fuzz-run: fuzz
	TIME=$(TIME) JOBS=$(JOBS) Scripts/fuzz run

# Attacks the public API at random for TIME seconds, in JOBS processes; SEED, ROUND and REPEAT run a round again.
chaos: deps
	$(SWIFT) build --product FireweedChaos
	TIME=$(TIME) JOBS=$(JOBS) SEED=$(SEED) ROUND=$(ROUND) REPEAT=$(REPEAT) Scripts/chaos .build/debug/FireweedChaos

# The reference as a DocC archive in .build/docs.
docs: deps
	Scripts/make-docs .build/docs

clean:
	rm -rf .build
