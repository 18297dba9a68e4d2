package main

import "strings"

// entries are the fuzz targets of what comes from outside.
const entries = "./throttle FuzzParseLimits, ./config FuzzParse, ./registry FuzzParseJSON, ./retry FuzzParseRetryAfter, " +
	"./presets/dialect FuzzRead, ./cmd/headrace/internal/requests FuzzRead, ./service FuzzREST, ./service/internal/grpcserve FuzzStoreService, " +
	"./service/internal/grpcserve FuzzRateLimitService, ./store/sqlitestore FuzzFile, ./httpclient FuzzGate, ./proxy FuzzPath, ./group FuzzRequest"

// fuzzing is a run of 20 s or half an hour for each of the targets, "package target, package target".
func fuzzing(targets string) (all []run) {
	for target := range strings.SplitSeq(targets, ", ") {
		packages, name, _ := strings.Cut(target, " ")
		all = append(all, run{packages: packages, tests: name, flags: "-fuzztime {20s|30m}", claims: "tests=1 execs>={100|10000}"})
	}
	return all
}

// wireRows are those of what comes over a network, and of what leaves by it.
func wireRows() []row {
	return []row{
		{
			id: 4, what: "fuzzing of every entry point: limits, configurations, Retry-After, headers, batch files, REST, gRPC, journal, URLs",
			runs: fuzzing(entries),
		},
		{
			id: 9, what: "HTTP fault corpus over HTTP/1.1 and HTTP/2: all classified",
			runs: []run{
				{packages: "./httpclient", tests: "^TestCorpus", claims: "tests=7 cases>=49"},
				{packages: "./httpclient ./httpclient/endpoint", tests: "Classify|OwnFaults|EndpointFailures", claims: "tests>=4"},
			},
		},
		{
			id: 10, what: "redirects and SSRF: scheme, userinfo, IPv6-mapped, hops, credentials over hosts",
			runs: []run{
				{packages: "./httpclient", tests: "Gate|Follow|Redirect|Walk|Rebinding|Bare", flags: "-rapid.checks {1000|100000}", claims: "tests>=35 urls>=150 checks>={1000|100000}"},
				{packages: "./cmd/headrace ./proxy ./httpclient/download", tests: "TheKeyGoesToItsOwnHostOnly|Redirect|NoPathLeadsToAnotherHost", claims: "tests>=5"},
				{packages: "./examples/openai ./examples/anthropic", tests: "^TestRedirectKeepsTheKey$", claims: "tests=2"},
			},
			mutants: []mutant{
				{
					name: "another origin sees the credentials", file: "httpclient/redirect_header.go", old: "case \"Accept\",", new: "case \"Authorization\", \"Accept\",",
					run: run{packages: "./httpclient", tests: "Follow|Redirect|Walk|Bare", flags: "-rapid.checks 1000 -rapid.nofailfile"}, by: "Authorization|secret",
				},
				{
					name: "an address that a name resolves to is not checked", file: "httpclient/gate_dial.go", old: "case err == nil:", new: "case err == nil || network != \"\":",
					run: run{packages: "./httpclient", tests: "Gate|Rebinding"}, by: "Rebinding",
				},
				{
					name: "userinfo in a URL is allowed", file: "httpclient/gate_check.go", old: "case u.User != nil:", new: "case u.User != nil && u.Host == \"\":",
					run: run{packages: "./httpclient", tests: "Gate"}, by: "userinfo",
				},
			},
		},
		{
			id: 11, what: "a secret as canary in header, query, body, configuration: in no log, event, error, journal",
			runs: []run{
				{packages: "./httpclient ./httpclient/endpoint ./httpclient/download ./internal/redact ./executor .", tests: "Secret|Canary|Scrub|Credential|Redact", claims: "tests>=20"},
				{packages: "./cmd/headrace ./cmd/headrace/internal/run", tests: "Secret|TheKeyIsTakenOut|AWordForAKey|Scrub", claims: "tests>=4"},
				{packages: "./proxy ./dashboard ./service ./service/internal/rules", tests: "Secret|Credential", claims: "tests>=5"},
				{packages: "./examples/openai ./examples/anthropic", tests: "^TestTheKeyIsNeverTold$", claims: "tests=2"},
			},
		},
		{
			id: 13, what: "service: malformed requests, tokens, large bodies, 1,000 slow connections",
			runs: append([]run{
				{packages: "./service", tests: "^TestSlowClients$", claims: "slow=1000 memory_mib<=256 p99_percent<={100000|200}"},
				{packages: "./service", tests: "^Test(Problems|Tokens|TokensOfGRPC|WebPagesAreRefused|HeadersAreBounded|Panics|AProbeThatPanics|ClientCertificates)$", claims: "tests=8"},
				{packages: "./service/faulttests", flags: "-running {5s|60s} -rounds {1|20}", claims: "tests>=6"},
			}, fuzzing("./service FuzzREST")...),
			mutants: []mutant{
				{
					name: "a token is right if its scheme is", file: "service/internal/rest/authorize.go", old: "return found == 1 && strings", new: "return found <= 1 && strings",
					run: run{packages: "./service", tests: "^TestTokens(OfGRPC)?$"}, by: "401|200|Unauthenticated",
				},
			},
			unproven: "p99 within twice that of an idle service is required before a release only, on an idle machine. A release runs 20 minutes of faults, where the target is an hour.",
		},
		{
			id: 15, what: "real SDKs, with and without our transport",
			runs: []run{
				{packages: "./examples/openai ./examples/anthropic", tests: "Conformance|TwoHundredCalls|SDKRetries|ErrorsOfTheLimiter|TheWaitIsNoTimeout", claims: "tests>=8"},
				{packages: "./examples/sdks", claims: "tests>=6"},
			},
		},
		{
			id: 18, what: "hostile bodies: errors, usage and quota codes at every depth; dripping, endless, bombed bodies; flipped bits in journals",
			runs: append([]run{
				{
					packages: ".", tests: "Stream|Tool|Usage|Drips|HeldBack|Rejection|Gzip|Coding|Tail|Endless|WithoutEnd|LongMembers",
					claims: "tests>=25",
				},
				{packages: "./presets/dialect ./internal/jsonwalk", claims: "tests>=30"},
				{packages: "./cmd/headrace", tests: "TextFromOutside|AnErrorInAnAnswer|NotJSONIsAFailure|AChangedByteInTheResults", claims: "tests=4"},
				{packages: "./store/sqlitestore", tests: "Flipped|Cut|Checksum", flags: "-flips {150|3000}", claims: "tests>=5"},
			}, fuzzing(". FuzzScan, . FuzzTail, . FuzzGzip")...),
		},
		{
			id: 21, what: "proxy: 1,000 clients that wait and leave, slow clients, hostile requests, faults upstream",
			runs: append([]run{
				{packages: "./proxy", tests: "Thousand|PassedOn|Slow|Bounded|Deadlines|LetIn|Path|Secret|Credential|Sent|Returned|Upstream|Drain|Join|Cancelled", claims: "tests>=35"},
				{packages: "./proxy/faulttests", flags: "-count={3|100}", claims: "tests>={3|100}"},
				{packages: "./cmd/headrace", tests: "^TestProxy(Drains|EndsAtOnce)$|^TestProxiesShare$", claims: "tests=3"},
			}, fuzzing("./proxy FuzzHeaders")...),
			mutants: []mutant{
				{
					name: "an answer repeats the credential of its request", file: "proxy/rewrite.go", old: "strings.Contains(v, secret)", new: "strings.Contains(v, secret+secret)",
					run: run{packages: "./proxy", tests: "Credential|Secret"}, by: "X-Echo|canary",
				},
			},
			unproven: "p99 of healthy clients beside slow ones is measured for the service (row 13), and not for the proxy. A release repeats the faults 100 times, where the target is an hour.",
		},
	}
}
