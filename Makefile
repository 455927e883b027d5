# What there is to do here. `make build` and `make install` need no network and no root; `make demo` and `make test` install
# what they need.

PACKAGES := libssl-dev zlib1g-dev libpsl-dev libsqlite3-dev libwslay-dev libnghttp2-dev libmicrohttpd-dev \
            libbrotli-dev libzstd-dev nginx-light tinyproxy strace groff-base binutils openssl curl \
            ca-certificates media-types pkg-config iproute2 python3 python3-venv python3-websockets redis-server
# The benchmarks measure libcurl too.
CURL := libcurl4-openssl-dev
SWIFT := swift
# What Scripts/link-options makes.
LINKED := .build/link
# The runtime goes into programs: they start in half the time, and run where no toolchain is. Libraries are found in
# LINKED first, never beside the program, and libcurl is not linked for Foundation's sake.
OPTIMISED := -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -use-ld=lld \
    -Xswiftc -Xclang-linker -Xswiftc -L$(LINKED) -Xswiftc -Xclang-linker -Xswiftc -static-libgcc \
    -Xswiftc -Xfrontend -Xswiftc -disable-autolink-library -Xswiftc -Xfrontend -Xswiftc curl
# Of `make install`: /usr/local as root, and DESTDIR in front of it for those who make packages.
PREFIX := /usr/local
DESTDIR :=
PROGRAM := .build/release/fireweed
# Of `make small`, in a build folder of its own: with other options for the linker SwiftPM compiles everything anew.
SMALL := .build/small/release/fireweed
# Of `make fuzz-run` and `make chaos`.
TIME := 60
JOBS := 2
# Of `make shared-files`, which `make chaos` runs too.
SHARED_TIME := 600
# Of `make fleet-rounds`.
ROUNDS := 200
# Of `make bridges`: a folder of git bundles, or nothing for the network.
BUNDLES := $(wildcard ../shared/packages)
# SwiftPM writes the traits into its commands in the order of a set, which is another one in each process: without this, a
# second command would have everything compiled anew.
export SWIFT_DETERMINISTIC_HASHING := 1
# Hundreds of tests that wait for servers would starve each other on two cores, until their deadlines pass.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 8
# Not the command's tests, the thousand exits, the counts and the chaos: those run programs of their own, whose reports this run does not see.
UNSANITIZED := --skip 'ProcessExitTests|CostTests|ChaosTests|FleetProcessTests|SharedFilesTests'
SANITIZED := --filter 'FireweedTests|FireweedTransportTests|FireweedTestingTests|FireweedFleetTests|FixtureServerTests' \
    $(UNSANITIZED)

# Lists the targets, with the first sentence of the comment above each.
help:
	@awk '/^# / { text = text " " substr($$0, 3); next } \
	    /^[a-z-]+:( |$$)/ && text { sub(/[.;:] .*|\.$$/, "", text); printf "%-14s%s\n", substr($$1, 1, length($$1) - 1), text } \
	    { text = "" }' $(MAKEFILE_LIST)

.PHONY: help all deps headers python build slim bridges demo test samples compatibility autobahn lint count way api-check release-check format bench fleet-demo overload-demo fleet-rounds shared-files \
        sanitize sanitize-part sanitized fuzz fuzz-run chaos docs clean \
        program small install uninstall deb image

all: build

# Installs the missing Debian packages; returns at once when none is missing.
deps:
	@Scripts/install-packages $(PACKAGES)

# Says which packages are missing for a build, and installs nothing.
headers:
	@Scripts/check-headers

# The Python packages that tests use where they can be had; Debian's do otherwise.
python: deps
	@Scripts/make-python .build/python

# Builds the library, the command and the tests' programs for debugging; installs nothing.
build: headers
	$(SWIFT) build

# Builds the libraries without the package's traits: they need OpenSSL, nghttp2 and zlib alone.
slim: deps
	Scripts/check-slim

# Builds the bridges to other packages with every trait, and runs their tests and samples, in a build folder of its own.
# BUNDLES is a folder of git bundles that stand in for the packages; by default ../shared/packages where it exists, else the
# network.
bridges: deps
	Scripts/bridges "$(BUNDLES)"
	Scripts/check-samples --bridges

# Shows the main job against a server of our own.
demo: deps
	$(MAKE) program
	Scripts/demo $(PROGRAM)

# Runs every test, the samples of the documentation and the clients in the shapes of apps.
test: deps python
	$(SWIFT) build --build-tests
	Scripts/run-tests --skip-build --skip SharedFilesTests
	# After the others, which would wait for the disk: eight processes that write all the time.
	$(SWIFT) test --skip-build --disable-xctest --filter SharedFilesTests
	# What FireweedTesting gives to tests with XCTest.
	$(SWIFT) test --skip-build --disable-swift-testing --quiet
	Scripts/check-compatibility
	Scripts/check-samples

# Every Swift sample of the documentation, compiled in both language modes; those that can run do, against servers.
samples: deps
	$(SWIFT) build
	Scripts/check-samples

# Code in the shapes that apps have, built against the product `Alamofire` in both language modes, and run against a server.
compatibility: deps
	$(SWIFT) build --product fireweed
	Scripts/check-compatibility

# Every case of the Autobahn test suite, of which `make test` plays all but the largest compressed messages.
autobahn: deps python
	$(SWIFT) build --build-tests
	FIREWEED_AUTOBAHN=all $(SWIFT) test --skip-build --filter AutobahnTests

# Formatting, documentation of public declarations, cycles between folders, the width of comments, rules that may have one
# place alone, a build in which every warning is an error, with the benchmarks too, Alamofire's names, and the public API.
lint: deps
	@Scripts/install-packages $(CURL)
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Fuzz
	Scripts/check-cycles
	Scripts/check-comments
	Scripts/check-places
	Scripts/check-platforms
	FIREWEED_BENCH=1 $(SWIFT) build --product FireweedBench
	$(SWIFT) build --build-tests
	Scripts/check-names
	Scripts/check-api

# Fails when the public API is another one than Scripts/public-api.txt says, which is the promise of the version.
api-check: build
	Scripts/check-api

# Says whether this commit can be tagged: version, changelog, public API, and a clone that passes (RELEASING.md).
release-check:
	Scripts/release-check

# Formats the sources in place.
format:
	$(SWIFT) format --in-place --parallel --recursive Package.swift Sources Tests Fuzz

# Measures the benchmarks of a release build; on a quiet machine. Go's net/http takes part where Go is installed.
bench: export FIREWEED_BENCH := 1
bench: deps
	@Scripts/install-packages $(CURL)
	$(SWIFT) build $(OPTIMISED) --product FireweedBench
	options=$$(Scripts/link-options $(LINKED)) && $(SWIFT) build $(OPTIMISED) --product fireweed $$options && \
	    $(SWIFT) build $(OPTIMISED) --product TestPrograms $$options
	.build/release/FireweedBench
	Scripts/bench-fleet .build/release/TestPrograms

# Counts the instructions and the system calls of a request, and fails where there are too many; those of metrics and traces
# where BUNDLES is.
count: export FIREWEED_BENCH := 1
count: deps
	@Scripts/install-packages $(CURL) valgrind strace
	$(SWIFT) build $(OPTIMISED) --product FireweedBench
	$(if $(BUNDLES),Scripts/bridges "$(BUNDLES)" --bench)
	Scripts/count .build/release/FireweedBench $(if $(BUNDLES),.build/bridges/build/release/FireweedBench)

# Lists the files and the types whose code runs for a plain GET.
way: export FIREWEED_BENCH := 1
way: deps
	@Scripts/install-packages $(CURL) valgrind
	$(SWIFT) build --static-swift-stdlib --scratch-path .build/way --product FireweedBench
	Scripts/way .build/way/debug --list

# Shows what processes share through a redis-server of its own.
fleet-demo: deps
	$(SWIFT) build --product TestPrograms
	Scripts/fleet-demo .build/debug/TestPrograms

# Shows three sessions that send a server three times what it can do.
overload-demo: deps
	$(SWIFT) build --product TestPrograms
	.build/debug/TestPrograms overload

# Plays ROUNDS rounds of processes that share a token, and of processes that are killed meanwhile.
fleet-rounds: deps
	$(SWIFT) build --build-tests
	FIREWEED_FLEET_ROUNDS=$(ROUNDS) $(SWIFT) test --skip-build --disable-xctest --filter FleetProcessTests

# The suite under ThreadSanitizer and AddressSanitizer, each in a build folder of its own.
sanitize: deps python
	$(MAKE) sanitized SANITIZE=thread TESTS="$(SANITIZED)"
	$(MAKE) sanitized SANITIZE=address TESTS="$(SANITIZED)"

# The tests of a few folders under SANITIZE=thread or address, as CI runs them.
sanitize-part: FOLDERS := FireweedTransportTests $(if $(filter thread,$(SANITIZE)),FireweedTests/Requests,FireweedTests/Chain)
sanitize-part: deps python
	$(MAKE) sanitized SANITIZE=$(SANITIZE) TESTS="--filter '$$(Scripts/suites $(FOLDERS))' $(UNSANITIZED)"

sanitized:
	TSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/thread-sanitizer.supp halt_on_error=1" ASAN_OPTIONS="detect_leaks=0" \
	    $(SWIFT) test --disable-xctest --scratch-path .build/$(SANITIZE) --sanitize=$(SANITIZE) \
	    -Xswiftc -DSANITIZE_$(shell echo $(SANITIZE) | tr a-z A-Z) $(TESTS)

# Fuzzers for everything of ours that parses bytes from outside, into .build/fuzz/build/targets.
fuzz: deps
	Scripts/fuzz build

# Runs every fuzzer for TIME seconds, JOBS at once, and takes what they find into Fuzz/Corpus.
fuzz-run: fuzz
	TIME=$(TIME) JOBS=$(JOBS) Scripts/fuzz run

# Attacks the public API at random for TIME seconds, in JOBS processes; SEED, ROUND and REPEAT run a round again.
# SANITIZE=address or thread does so under that sanitizer, in a build folder of its own.
chaos: CHAOS_BUILD := $(if $(SANITIZE),.build/$(SANITIZE),.build)
chaos: deps
	$(SWIFT) build --product FireweedChaos --scratch-path $(CHAOS_BUILD) \
	    $(if $(SANITIZE),--sanitize=$(SANITIZE) -Xswiftc -DSANITIZE_$(shell echo $(SANITIZE) | tr a-z A-Z))
	ASAN_OPTIONS="detect_leaks=0" TSAN_OPTIONS="suppressions=$(CURDIR)/Scripts/thread-sanitizer.supp halt_on_error=1" \
	    TIME=$(TIME) JOBS=$(JOBS) SEED=$(SEED) ROUND=$(ROUND) REPEAT=$(REPEAT) SANITIZE=$(SANITIZE) \
	    Scripts/chaos $(CHAOS_BUILD)/debug/FireweedChaos
	$(if $(SANITIZE)$(ROUND),,$(MAKE) shared-files)

# Has eight processes share files of responses, credentials and limits, and kills them, for SHARED_TIME seconds.
shared-files: deps
	$(SWIFT) build --build-tests
	FIREWEED_SHARED_TIME=$(SHARED_TIME) $(SWIFT) test --skip-build --disable-xctest --filter SharedFilesTests

# The documentation in .build/docs: a DocC archive, a static site, and Markdown for tools.
docs: deps
	$(SWIFT) build
	Scripts/make-docs .build/docs

# Builds the command as it is installed.
program: headers
	options=$$(Scripts/link-options $(LINKED)) && $(SWIFT) build $(OPTIMISED) --product fireweed $$options
	Scripts/check-libraries $(PROGRAM)

# The command in half the size, without what it does not need of the toolchain's ICU, for packages and images.
small: headers
	options=$$(Scripts/link-options --small $(LINKED)) && \
	    $(SWIFT) build $(OPTIMISED) --scratch-path .build/small --product fireweed $$options
	Scripts/check-libraries $(SMALL)

$(PROGRAM):
	$(MAKE) program

# Installs the command, its man page and its completions under PREFIX; `make program` builds it anew first.
install: $(PROGRAM)
	Scripts/install-command $(PROGRAM) "$(PREFIX)" "$(DESTDIR)"

# Removes what `make install` installed.
uninstall:
	Scripts/install-command --uninstall "$(PREFIX)" "$(DESTDIR)"

# Makes a Debian package of the command, in .build/deb; `dpkg-buildpackage -b -d -us -uc` makes it beside this folder.
deb: deps
	@Scripts/install-packages debhelper dpkg-dev
	Scripts/make-deb .build/deb

# Gathers the files of a container image, in .build/image; the Dockerfile makes the image of them.
image: deps
	$(MAKE) small
	Scripts/make-image $(SMALL) .build/image

# Deletes everything that was built.
clean:
	rm -rf .build
