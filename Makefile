# What a contributor runs. It needs Go, git and make; the linters are Go
# modules too, pinned here, and `make check` installs them into .bin/.

.SHELLFLAGS := -euc
.DEFAULT_GOAL := help

GOLANGCI_LINT_VERSION := v2.15.0
GOFUMPT_VERSION := v0.12.0
NFPM_VERSION := v2.45.2
CYCLONEDX_VERSION := v1.10.0
APIDIFF_VERSION := v0.0.0-20261014143641-f0251eb4aa3e

BIN := $(CURDIR)/.bin
TIDY := $(BIN)/tidy

# Narrow a run down: make test TESTFLAGS='-run TestFIFO -v'.
TESTFLAGS ?=
# Narrow a run down: make bench BENCH=Allow COUNT=3. It then prints its page
# and leaves docs/benchmarks.md alone; BENCHFLAGS='-raw file' keeps the output
# for benchstat.
BENCH ?= .
COUNT ?= 10
BENCHFLAGS ?=
# make fuzz FUZZTIME=5m fuzzes each target for longer. Making each new input
# smaller for the default of 60 s would take most of that.
FUZZTIME ?= 60s
# GOODPUTFLAGS='-scenario cap -measured 30s' narrows a run down; it then prints
# its page and leaves docs/goodput.md alone, as one of fewer than 5 SEEDS does.
SEEDS ?= 5
GOODPUTFLAGS ?=
# make demo DEMOFLAGS='--seed 7' has the limits of a run again.
DEMOFLAGS ?=
# make try: what of the repository, and pages whose names contain PAGES.
TRY ?= clone
PAGES ?=
# N random providers and HARSHER of the harsher generator from number OFFSET on,
# and the seeds of the families after it. From the default on they are for
# judging: no controller was tuned on them. Tune on those below it.
# make simulate ABLATE=1 leaves out each rule of the law in turn, and
# SIMFLAGS='-set families -family 03 -only blind' is any other flag (SIMFLAGS=-help).
OFFSET ?= 1000000
N ?= 500
HARSHER ?= 400
ABLATE ?=
SIMFLAGS ?=
# The scenarios that docs/adaptive.md shows.
PICTURES ?= rate /2 x2,cap /2 x2,fixed minute

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

# A stage prints its name, how long it takes, and what runs, at least every 15 s. A package that hangs ends after 20 min.
STAGE := @go run ./internal/stage
# go vet has more checks than the vet of go test, which would load every package and its dependencies once more.
GO_TEST := go test -vet=off -shuffle=on -timeout 20m
OTLP := ./cmd/headrace/internal/otlp ./cmd/headrace/internal/gateway ./cmd/headrace/internal/command

.PHONY: test
test: ## Vet and test every module, shuffled, runnable examples included: some minutes (make test-race has the rest)
	@echo 'make test: four stages; the first compiles everything, which takes minutes when nothing is cached'
	$(STAGE) vet go vet work
	$(STAGE) vet-otlp go vet -tags otlp $(OTLP)
	$(STAGE) -again tests $(GO_TEST) $(TESTFLAGS) work
	$(STAGE) -again otlp $(GO_TEST) -tags otlp $(TESTFLAGS) $(OTLP)

.PHONY: test-race
test-race: ## Test every module again with the race detector (which needs a C compiler), and those that have sizes with larger ones
	$(STAGE) -again race $(GO_TEST) -race $(TESTFLAGS) work
	$(STAGE) calls $(GO_TEST) ./throttle -run '^TestNoWindowIsEverExceeded$$' -calls 1000000
	$(STAGE) -again locked $(GO_TEST) ./throttle ./executor -fast=none
	$(STAGE) items $(GO_TEST) ./store/sqlitestore -run '^TestManyProcessesShareAFile$$' -items 350
	$(STAGE) quota $(GO_TEST) ./store/sqlitestore -run '^TestEightProcessesShareLimits$$' -calls 4000

.PHONY: test-engines
test-engines: ## Test the engines against real servers: PostgreSQL from the system, and Temporal, built once into the user's cache (some seven minutes of processor time)
	go test ./engine/river ./examples/river -run 'PostgreSQL|NoResult' -postgres -count=1 -timeout 10m -v
	go test ./engine/temporal ./examples/temporal -run Server -server -count=1 -timeout 30m -v

.PHONY: check
check: fmt-check lint tidy-check arch prose api ## Everything CI asks for beside the tests: format, linters, go.mod files, layers, wording, the public API

.PHONY: fmt
fmt: $(BIN)/gofumpt ## Format every file with gofumpt
	$(BIN)/gofumpt -w .

.PHONY: fmt-check
fmt-check: $(BIN)/gofumpt
	@echo gofumpt -l .
	@unformatted="$$($(BIN)/gofumpt -l .)"; \
	if [ -n "$$unformatted" ]; then \
		printf 'make check: not formatted (make fmt repairs it):\n%s\n' "$$unformatted" >&2; exit 1; \
	fi

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run golangci-lint over every module
	$(BIN)/golangci-lint run --allow-serial-runners $$(go list -m -f '{{.Dir}}/...' | sed 's|^$(CURDIR)|.|')

.PHONY: tidy
tidy: ## Tidy the go.mod of every module
	@$(call tidy_modules,)

.PHONY: tidy-check
tidy-check:
	@$(call tidy_modules,-diff)

.PHONY: arch
arch: ## Check that packages import only packages of lower layers
	go test -count=1 ./internal/arch

.PHONY: prose
prose: ## Count person words and unidiomatic phrases in pages and comments
	go test -count=1 -v ./internal/prose -run '^Test(Pages|Comments)$$'

.PHONY: api
api: $(BIN)/apidiff ## List what is incompatible with the last tag: an error from v1 on, and before that unless CHANGELOG.md has it under "### Breaking"
	@tag=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || { echo 'make api: no version is tagged yet'; exit 0; }; \
	old=$$(mktemp -d); trap 'git worktree remove --force '"$$old"'/tree; rm -rf '"$$old" EXIT; \
	git worktree add --quiet --detach $$old/tree $$tag; module=$$(sed -n 's/^module //p' go.mod); \
	{ (cd $$old/tree && $(BIN)/apidiff -m -w $$old/api $$module) && $(BIN)/apidiff -m -incompatible $$old/api $$module >$$old/breaks; } 2>$$old/said || \
		{ grep -v '^Ignoring ' $$old/said >&2; exit 1; }; \
	[ -s $$old/breaks ] || { echo "make api: compatible with $$tag"; exit 0; }; \
	cat $$old/breaks; \
	case $$tag in v0.*) awk '/^## /{n++} n==1 && /^### Breaking/{found=1} END{exit !found}' CHANGELOG.md && exit 0;; esac; \
	echo "make api: the above is incompatible with $$tag" >&2; exit 1

.PHONY: verify
verify: test-race ## Before a release: 1e8 virtual calls an algorithm, 1,000 seeds, long property tests, 75 kills, flat memory, every fuzz target (over two hours)
	go test ./throttle -run TestNoWindowIsEverExceeded -calls 100000000 -seeds 1000 -timeout 0
	go test ./throttle ./breaker ./internal/oracle ./node ./adaptive ./guard -skip TestNoWindowIsEverExceeded -rapid.checks 20000 -timeout 0
	go test ./store/sqlitestore -count=1 -run '^TestManyOpenANewFileAtOnce$$' -first-opens 300
	go test ./store/sqlitestore -count=1 -run '^TestAFlippedBitIsNeverAValue$$' -flips 3000
	go test ./store/sqlitestore -count=1 -run '^TestEightProcessesShareLimits$$' -calls 100000 -timeout 0
	go test ./store/sqlitestore -count=1 -run '^TestQuotaInRealTime$$' -real-time
	go test ./store/sqlitestore -count=1 -run '^TestQuotaBesideATransaction$$' -beside 3s -v -timeout 0
	go test ./store/redisstore -count=1 -run '^TestManyProcessesShareLimits$$' -running 60s -v -timeout 0
	go test ./store/redisstore -count=1 -run '^TestCluster$$' -moves 10 -v -timeout 0
	go test -race ./proxy/faulttests -count=20 -timeout 0
	go test ./service/faulttests -count=1 -running 60s -rounds 5 -v -timeout 0
	go test -race ./store/redisstore/faulttests -count=1 -rounds 20 -storms 1000 -v -timeout 0
	go test ./store/sqlitestore ./node -run '^$$' -bench '^Benchmark(Items|Journal)$$'
	for seed in 7 11 23; do go test -race ./examples/resume -count=1 -run '^TestKilledAgainAndAgain$$' -kills 25 -texts 2000 -seed $$seed -v; done
	go test ./examples/resume -count=1 -run '^TestStartedTwiceAtOnce$$' -rounds 10 -texts 3000
	go test ./benchmarks -count=1 -run '^TestMemoryIsFlat$$' -memory -v -timeout 0
	go test ./cmd/headrace -count=1 -run '^TestMemoryIsFlat$$' -memory 1000000 -v -timeout 0
	go test ./group -count=1 -run '^Test(One)?Process(es)?(OfAService)?$$' -for 5m -warm 1m -kill 30s -rate 600 -v -timeout 0
	go test ./cmd/headrace -count=1 -run '^TestFourPrograms$$' -for 5m -v -timeout 0
	go test ./cmd/headrace -count=1 -run '^TestKilledAgainAndAgain$$' -kills 3 -lines 20000 -rate 50 -v -timeout 0
	go test ./internal/simulate/report -count=1 -run '^Test(NothingWaitsForEver|EveryHistoryEnds)$$' -providers 20000 -timeout 0
	$(MAKE) test-install
	$(MAKE) test-release
	$(MAKE) fuzz FUZZTIME=2m

# make scorecard FULL=1 takes the sizes of a release, SERVERS=1 runs the row of the engines too,
# SCOREFLAGS='-rows 1,5 -v' narrows a run down; it then prints its table only.
FULL ?=
SERVERS ?=
SCOREFLAGS ?=

.PHONY: scorecard
scorecard: ## Run the 22 rows of the reliability scorecard and write docs/scorecard.md (some 15 minutes; FULL=1 takes hours; SERVERS=1)
	go run ./internal/scorecard $(if $(FULL),-full) $(if $(SERVERS),-servers) $(SCOREFLAGS)

HOURS ?= 1

.PHONY: soak
soak: ## Load all parts over loopback for HOURS=1, and fail if memory, descriptors or goroutines grow
	go test ./cmd/headrace -count=1 -run '^TestSoak$$' -soak $(HOURS)h -v -timeout 0

# make release VERSION=v0.1.0 is a dry run; RELEASEFLAGS=-tag commits the
# versions and tags the modules. RELEASEFLAGS='-targets linux/amd64' narrows it down.
RELEASEFLAGS ?=

.PHONY: release
release: $(BIN)/nfpm $(BIN)/cyclonedx-gomod ## Prepare VERSION=v0.1.0 of all modules in dist/: a module proxy, archives, packages, SBOMs, checksums (a dry run; see RELEASING.md)
	@[ -n "$(VERSION)" ] || { echo 'make release: which one? make release VERSION=v0.1.0' >&2; exit 2; }
	go run ./internal/release -version '$(VERSION)' -into dist -nfpm $(BIN)/nfpm -cyclonedx $(BIN)/cyclonedx-gomod $(RELEASEFLAGS)

.PHONY: test-release
test-release: $(BIN)/nfpm $(BIN)/cyclonedx-gomod ## Build the release of this system twice and compare all files; lintian and bash-completion check the Debian package (minutes)
	go test ./internal/release -count=1 -run '^TestReleaseIsReproducible$$' -nfpm $(BIN)/nfpm -cyclonedx $(BIN)/cyclonedx-gomod -v -timeout 30m

.PHONY: test-install
test-install: ## Install the command and every module from a local proxy of what is committed, in an empty environment (minutes)
	go test ./internal/release -count=1 -run '^TestInstall$$' -install -v -timeout 30m

.PHONY: try
try: ## Type every block of commands of the README and the guides into a fresh clone (PAGES=cli, TRY=tree with what is not committed; minutes)
	go test ./internal/guide -count=1 -run '^TestCommandsRunAsPrinted$$' -try $(TRY) -pages '$(PAGES)' -v -timeout 0

.PHONY: fuzz
fuzz: ## Run every fuzz target of every module for FUZZTIME (60s), about an hour
	@for at in $$(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's,/[^/]+:[0-9]+:func ,:,' | sort); do \
		echo "$${at%:*} $${at#*:}"; \
		go test -run '^$$' -fuzz "^$${at#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$${at%:*}"; \
	done

.PHONY: surface
surface: ## Count the public names, the With settings and the words of go doc, by package
	go run ./internal/surface

.PHONY: generate
generate: ## Write what is generated: constants and table of the presets, the JSON Schema of config, the code of the .proto files
	go generate ./presets
	cd config && go generate .
	cd service/proto/generate && go run .

.PHONY: bench
bench: ## Run the benchmarks, peers and ours, and write docs/benchmarks.md; then those of the proxy, the shared stores and the service, into docs/figures (BENCH=regexp COUNT=n)
	cd benchmarks && go run ./cmd/benchreport -bench '$(BENCH)' -count $(COUNT) -o ../docs/benchmarks.md $(BENCHFLAGS)
	go test ./store/sqlitestore -count=1 -run '^TestQuotaBesideATransaction$$' -beside 3s -v -timeout 0
	$(MAKE) figures FIGURES='beside redis service'

.PHONY: bench-baseline
bench-baseline: ## make bench for one process, and keep what it printed as benchmarks/baseline.txt
	cd benchmarks && go run ./cmd/benchreport -count $(COUNT) -o ../docs/benchmarks.md -raw baseline.txt

.PHONY: bench-check
bench-check: ## Compare the tree with benchmarks/baseline.txt by benchstat; a peer that has moved tells of another machine (BENCH=regexp COUNT=n)
	mkdir -p $(BIN)
	cd benchmarks && go run ./cmd/benchreport -bench '$(BENCH)' -count $(COUNT) -raw $(BIN)/bench.txt >/dev/null
	cd benchmarks && go tool benchstat -filter '.name:/$(firstword $(subst /, ,$(BENCH)))/' baseline=baseline.txt tree=$(BIN)/bench.txt

.PHONY: goodput
goodput: ## Measure over real HTTP what clients get of a limit, peers and ours, and write docs/goodput.md (SEEDS=5; on an idle machine)
	cd benchmarks && go run ./goodput/cmd/goodput -seeds $(SEEDS) -o ../docs/goodput.md $(GOODPUTFLAGS)

# Each file in docs/figures begins with the command that printed the rest.
FIGURES ?= $(patsubst docs/figures/%.txt,%,$(wildcard docs/figures/*.txt))

.PHONY: figures
figures: ## Run the commands of docs/figures again, and keep what they print (FIGURES='killed programs'; on an idle machine)
	@for name in $(FIGURES); do \
		command=$$(sed -n '1s/^\$$ //p' docs/figures/$$name.txt); echo "$$name: $$command"; \
		printf '$$ %s\n%s, commit %s, %s, %s cores, load %s\n\n' "$$command" "$$(date -u +%F)" "$$(git rev-parse --short HEAD)" \
			"$$(go version | cut -d ' ' -f 3-)" "$$(getconf _NPROCESSORS_ONLN)" "$$(uptime | sed 's/.*: //')" >$(BIN)/$$name.txt; \
		sh -euc "$$command" >>$(BIN)/$$name.txt; mv $(BIN)/$$name.txt docs/figures/; \
	done

.PHONY: simulate
simulate: ## Play the control laws, ours and others, against simulated providers (OFFSET=n N=500 HARSHER=400 ABLATE=1)
	go run ./internal/simulate/cmd/simulate -offset $(OFFSET) -n $(N) -harsher $(HARSHER) $(if $(ABLATE),-ablate) $(SIMFLAGS)

.PHONY: pictures
pictures: ## Draw docs/adaptive/*.svg and put the figures into docs/adaptive.md and docs/law.md (OFFSET=n N=500)
	go run ./internal/simulate/cmd/simulate -chart docs/adaptive -only 'headrace blind' -scenario '$(PICTURES)'
	go run ./internal/simulate/cmd/simulate -offset $(OFFSET) -n $(N) -harsher $(HARSHER) -into docs/adaptive.md $(SIMFLAGS)
	go run ./internal/simulate/cmd/simulate -ablate -offset 20000 -n 80 -harsher 80 -seeds 2 -only 'headrace blind,headrace headers' -into docs/law.md

# make playground SERVE=127.0.0.1:8089 serves the page until Ctrl-C.
SERVE ?=

.PHONY: playground
playground: ## Build the page in docs/playground: the simulator as WebAssembly (SERVE=127.0.0.1:8089 serves it)
	go run ./internal/simulate/cmd/playground $(if $(SERVE),-serve $(SERVE))

.PHONY: demo
demo: ## Run the demo and draw docs/demo.svg of it (DEMOFLAGS='--seed 7'; on an idle machine)
	go run ./cmd/headrace demo --picture docs/demo.svg $(DEMOFLAGS)

.PHONY: cover
cover: ## Test the core and print its coverage by function
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out

# A plain `go mod tidy` does not read go.work, so it cannot find a module of
# this repository that another one requires while no tag is published. It is
# given a copy of go.mod in which each such module is replaced by its folder.
# $(1) is -diff to compare only; without it the copies are put in place.
define tidy_modules
mkdir -p $(TIDY); \
go list -m -f '{{.Path}}={{.Dir}}' >$(TIDY)/modules; \
status=0; \
while IFS='=' read -r path dir; do \
	echo "go mod tidy $(1) ($$path)"; \
	rm -f $(TIDY)/go.mod $(TIDY)/go.sum; \
	cp "$$dir/go.mod" $(TIDY)/go.mod; \
	if [ -f "$$dir/go.sum" ]; then cp "$$dir/go.sum" $(TIDY)/go.sum; fi; \
	for other in $$(grep -v "^$$path=" $(TIDY)/modules); do \
		go mod edit -replace="$$other" $(TIDY)/go.mod; \
	done; \
	(cd "$$dir" && GOWORK=off go mod tidy $(1) -modfile=$(TIDY)/go.mod) || status=1; \
	if [ -z "$(1)" ]; then \
		for other in $$(cut -d= -f1 $(TIDY)/modules); do \
			go mod edit -dropreplace="$$other" $(TIDY)/go.mod; \
		done; \
		cp $(TIDY)/go.mod "$$dir/go.mod"; \
		if [ -f $(TIDY)/go.sum ]; then cp $(TIDY)/go.sum "$$dir/go.sum"; fi; \
	fi; \
done <$(TIDY)/modules; \
exit $$status
endef

# Tools are installed when they are missing, of another version than the one
# pinned above, or built by another Go than the one in use (golangci-lint
# refuses code newer than the Go that built it).
define install_tool
@tool=$(BIN)/$(1); \
if ! { go version -m $$tool | grep -qE '$(2)[[:space:]]+$(3)([[:space:]]|$$)' && \
	go version $$tool | grep -qF "$$(go env GOVERSION)"; } 2>/dev/null; then \
	echo "installing $(1) $(3)"; \
	GOBIN=$(BIN) go install $(4)@$(3); \
fi
endef

.PHONY: $(BIN)/apidiff $(BIN)/gofumpt $(BIN)/golangci-lint $(BIN)/nfpm $(BIN)/cyclonedx-gomod
$(BIN)/nfpm:
	$(call install_tool,nfpm,github.com/goreleaser/nfpm/v2,$(NFPM_VERSION),github.com/goreleaser/nfpm/v2/cmd/nfpm)

$(BIN)/cyclonedx-gomod:
	$(call install_tool,cyclonedx-gomod,github.com/CycloneDX/cyclonedx-gomod,$(CYCLONEDX_VERSION),github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod)

$(BIN)/apidiff:
	$(call install_tool,apidiff,golang.org/x/exp,$(APIDIFF_VERSION),golang.org/x/exp/cmd/apidiff)

$(BIN)/gofumpt:
	$(call install_tool,gofumpt,mvdan.cc/gofumpt,$(GOFUMPT_VERSION),mvdan.cc/gofumpt)

$(BIN)/golangci-lint:
	$(call install_tool,golangci-lint,github.com/golangci/golangci-lint/v2,$(GOLANGCI_LINT_VERSION),github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
