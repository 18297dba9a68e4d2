// Package learn holds the control law Measured as a pure machine: it is told
// what was sent and what was answered, and says how long to wait before the
// next call. Time is an argument, in seconds since the machine began; amounts
// are calls and tokens.
//
// Each file is one idea, with its own tests. [Machine] joins them:
//
//   - [Door] knows when the provider is shut, and how to knock.
//   - [Flight] bounds the calls in flight.
//   - [Pacer] spaces calls, and another one tokens.
//   - [Mirror] estimates what the headers say is left.
//   - [Overdraft] tries whether more is taken than that.
//   - [Tally] measures the rate between two refusals.
//   - [Claim] weighs whether a refusal without a label is a cap on concurrency.
//   - [Under] remembers what a cap let through before errors refuted it.
//   - [Memory] tries again what held before a fall.
//   - [Trust] ignores headers that are about another limit.
//   - [Noise] finds refusals that no pace prevents.
//
// docs/law.md has the rules and the constants on one page. A machine takes a few kilobytes, whatever it has seen, and no call to it allocates.
package learn
