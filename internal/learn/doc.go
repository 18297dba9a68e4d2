// Package learn implements the control law Measured as a pure machine. It receives what was sent and what was answered, and
// returns how long to wait before the next call. Time is an argument, in seconds since the machine began; amounts are calls and
// tokens.
//
// Each file is one idea, with its own tests. [Machine] joins them:
//
//   - [Door] knows when the provider is closed, and how to probe; [Truth] corrects a Retry-After, and [Fines] finds what rejections cost.
//   - [Flight] bounds the calls in flight.
//   - [Pacer] spaces calls, and another one tokens; [Calm] decides how long one of its cycles takes.
//   - [Mirror] estimates the remaining quota from headers, with [Others] and [Turn].
//   - [Overdraft] tests whether the provider admits more than that.
//   - [Tally] measures the rate between two refusals, and [Spans] the windows in which a provider counts.
//   - [Claim] decides whether a refusal without a label is a concurrency limit.
//   - [Under] remembers the throughput under a concurrency limit that errors refuted.
//   - [Memory] retries a rate that held before a decrease.
//   - [Trust] ignores headers that are about another limit.
//   - [Noise] finds random rejections, which no rate prevents.
//
// docs/law.md has the rules and the constants on one page. A machine takes less than 45 kB, whatever it has seen, and no call
// to it allocates.
package learn
