// Package learn implements the control law Measured as a pure machine. It receives what was sent and what was answered, and
// returns how long to wait before the next call. Time is an argument, in seconds since the machine began; amounts are calls and
// tokens.
//
// Each file is one idea, with its own tests and with what [Machine] does about it. These hold a call back:
//
//   - [Door] while the provider is closed. [Truth] corrects a Retry-After, and [Fines] finds what rejections cost.
//   - [Flight] while too many calls are in flight. silence.go has it grow at the start, gap.go above what has held.
//   - [Pacer], one for calls and one for tokens. [Calm] decides how long a cycle takes, and [Peers] shortens it where other
//     processes use a slow limit.
//   - [Quota] while the headers leave too little: a [Mirror] of each unit. [Turn] finds windows, [Others] what others use, and
//     [Charge] what the provider reserves for a call. [Uncharged] are the calls that used nothing.
//
// These find out what a refusal means:
//
//   - [Tally] measures the rate between two, with [History] and [Fates]; [Spans] measures the windows in which a provider counts.
//   - [Claim] decides whether refusals that name no limit are those of a cap, with [Repeats], [LevelCounts] and [Crowd].
//   - [Noise] finds random ones, which neither a lower pace nor, in undercap.go, a lower bound prevents, [Foreign] those about
//     another limit, and [Collisions] those of calls that came at the same moment as others.
//   - [Overload] bounds the calls in flight when the whole service is full.
//
// These end what no longer holds:
//
//   - [Memory] has what held before a decrease tried again, and [CapRate] a cap that errors refuted.
//   - [Trust] ignores headers that are about another limit, and [Overdraft] tests whether more is admitted than they leave.
//
// [Part] is a part of a limit that several clients share, [Saved] what another run goes on with, and [Rules] are what a simulation
// can leave out: each is named where it acts, as in off.Has(GateRule).
//
// A call goes through the methods of Machine in this order: Wait (wait.go), which first brings everything up to date (tick.go), Sent
// (sent.go), then Answered (answer.go) or Refused (refusal.go). The first refusal of an epoch is judged (verdict.go), and answered
// by a decrease (cut.go). What held before a decrease is tried again (trials.go).
//
// The names in the code have these meanings:
//
//   - refused: rejected by the provider for rate or overload; taken: not refused
//   - epoch: from one decision to the next (epoch.go); the refusals of calls that left before it began belong to the previous one
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
