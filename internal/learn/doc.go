// Package learn implements the control law Measured as a pure machine. It receives what was sent and what was answered, and
// returns how long to wait before the next call. Time is an argument, in seconds since the machine began; amounts are calls and
// tokens.
//
// Each file is one idea, with its own tests and with what [Machine] does about it:
//
//   - [Door] knows when the provider is closed, and how to probe; [Truth] corrects a Retry-After, and [Fines] finds what rejections cost.
//   - [Flight] bounds the calls in flight.
//   - [Pacer] spaces calls, and another one tokens; [Calm] decides how long one of its cycles takes,
//     and [Peers] shortens it where other processes use a slow limit.
//   - [Quota] is what headers leave: a [Mirror] of each unit, with [Others] and [Turn]. [Charge] estimates what a call reserves there.
//   - [Overdraft] tests whether the provider admits more than that.
//   - [Tally] measures the rate between two refusals, and [Spans] the windows in which a provider counts.
//   - [Claim] decides whether refusals that name no limit are those of a cap; [Repeats] finds those that come at one level.
//   - [CapRate] remembers what got through under a cap that errors refuted.
//   - [Memory] retries a rate that held before a decrease.
//   - [Trust] ignores headers that are about another limit.
//   - [Noise] finds random rejections, which no rate prevents, [Foreign] those about another limit, and [Collisions] those of
//     calls that came at the same moment as others.
//   - [Overload] bounds the calls in flight when the whole service is full.
//   - [Part] is a part of a limit that several clients share.
//
// A call goes through the methods of Machine in this order: Wait and Sent (machine.go), then Answered (answer.go) or Refused
// (refusal.go). The first refusal of an epoch is judged (verdict.go), and answered by a decrease (cut.go). What held before a
// decrease is tried again (trials.go).
//
// The names in the code have these meanings:
//
//   - refused: rejected by the provider for rate or overload; taken: not refused
//   - epoch: from one decision to the next; the refusals of calls that left before it began belong to the previous epoch
//   - mark: a refusal that shows the provider's bucket empty, so that a measurement ends and the next begins
//   - pace: the rate at which calls are sent; cycle: the time from a mark until a faster pace has been tried
//   - cap: a limit on calls in flight; claim: the belief in one; level: the calls in flight when one refuses
//   - trial: of what held before a decrease; test: whether more is admitted than headers leave
//   - gate: what holds all calls back after a refusal; probe: a single call that finds out whether the provider is open
//   - dark: the time in which a closed provider admitted nothing
//   - foreign: about another limit than ours
//
// docs/law.md has the rules and the constants on one page. A machine takes less than 45 kB, whatever it has seen, and no call
// to it allocates.
package learn
