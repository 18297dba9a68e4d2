package report

import "fmt"

// A Target is a bound on one figure, or on its ratio to another or what it is more than that.
type Target struct {
	Claim   string
	Figure  Key
	Against Key // the zero Key for the figure itself
	Most    float64
	// More bounds what Figure is more than Against, in place of their ratio.
	More bool
	// Always has the worst pass judged instead of the median: for what is
	// counted, not timed.
	Always bool
}

// Status says whether a target is met.
type Status uint8

const (
	// Unmeasured has no figures.
	Unmeasured Status = iota
	// Met is within the bound.
	Met
	// Missed is above it.
	Missed
)

// String returns the status in lower case.
func (s Status) String() string {
	switch s {
	case Met:
		return "met"
	case Missed:
		return "**missed**"
	default:
		return "not measured"
	}
}

// Judge compares the figures of the passes with the target.
func (t Target) Judge(passes []Pass) (Status, Summary) {
	var s Summary
	switch {
	case t.Against == (Key{}):
		s = Summarize(Values(passes, t.Figure))
	case t.More:
		s = Summarize(Differences(passes, t.Figure, t.Against))
	default:
		s = Summarize(Ratios(passes, t.Figure, t.Against))
	}
	judged := s.Median
	if t.Always {
		judged = s.Max
	}
	switch {
	case s.N == 0:
		return Unmeasured, s
	case judged <= t.Most:
		return Met, s
	default:
		return Missed, s
	}
}

// Bound is the target in figures: "<= 0.6 x-time-rate".
func (t Target) Bound() string {
	switch {
	case t.Against == (Key{}):
		return fmt.Sprintf("<= %s %s", short(t.Most), t.Figure.Unit)
	case t.More:
		return fmt.Sprintf("<= %s + %s %s", t.Against.Contender, short(t.Most), t.Figure.Unit)
	default:
		return fmt.Sprintf("<= %sx %s", short(t.Most), t.Against.Contender)
	}
}

// Targets are what headrace has set itself to reach in one process.
func Targets() []Target {
	const ns, allocs = "ns/op", "allocs/op"
	ratio := func(claim, op, ours, unit, peer string, most float64) Target {
		return Target{Claim: claim, Figure: Key{op, ours, unit}, Against: Key{op, peer, unit}, Most: most}
	}
	none := func(claim, op, unit string) Target {
		return Target{Claim: claim, Figure: Key{op, "headrace", unit}, Always: true}
	}
	more := func(claim, op, ours, unit, peer string, most float64) Target {
		t := ratio(claim, op, ours, unit, peer, most)
		t.More, t.Always = true, true
		return t
	}
	return []Target{
		ratio("Allow, a bucket", "Allow", "headrace", ns, "x-time-rate", 0.46),
		ratio("Allow, a bucket, 64 goroutines on one core", "AllowOneCore/goroutines=64", "headrace", ns, "x-time-rate", 0.46),
		ratio("Allow, a bucket, 64 goroutines on all cores", "AllowParallel/goroutines=64", "headrace", ns, "x-time-rate", 0.35),
		ratio("Allow, a bucket, beside uber-go/ratelimit", "Allow", "headrace", ns, "uber-ratelimit", 1),
		ratio("Allow, a bucket, beside failsafe-go", "Allow", "headrace", ns, "failsafe-go", 1),
		ratio("Allow, a bucket, 64 goroutines on all cores, beside uber-go/ratelimit", "AllowParallel/goroutines=64", "headrace", ns, "uber-ratelimit", 1),
		ratio("Allow, a bucket, 64 goroutines on all cores, beside failsafe-go", "AllowParallel/goroutines=64", "headrace", ns, "failsafe-go", 1),
		ratio("Allow, an exact sliding window", "Allow", "headrace-sliding", ns, "x-time-rate", 0.48),
		ratio("Allow, an exact sliding window, 64 goroutines on one core", "AllowOneCore/goroutines=64", "headrace-sliding", ns, "x-time-rate", 0.48),
		ratio("Allow, an exact sliding window, 64 goroutines on all cores", "AllowParallel/goroutines=64", "headrace-sliding", ns, "x-time-rate", 0.66),
		ratio("three atomic windows, beside three Allows", "ThreeWindows", "headrace", ns, "x-time-rate", 0.25),
		ratio("three atomic sliding windows, beside three Allows", "ThreeWindows", "headrace-sliding", ns, "x-time-rate", 0.35),
		ratio("TryAcquire + Release with a slot and a window, beside Allow", "TryAcquire", "headrace", ns, "x-time-rate", 1.2),
		ratio("Acquire + Release of a slot alone", "Acquire", "headrace-slot-only", ns, "x-sync-semaphore", 1.5),
		ratio("one of 100,000 keys", "Keys/keys=100000", "headrace", ns, "x-time-rate", 0.9),
		ratio("64 goroutines that wait for a window, processor time", "Wait", "headrace", "cpu-ns/op", "x-time-rate", 0.8),
		none("Allow allocates nothing", "Allow", allocs),
		none("TryAcquire allocates nothing", "TryAcquire", allocs),
		none("Acquire allocates nothing", "Acquire", allocs),
		none("Acquire with 16 waiters allocates nothing", "Blocked/waiters=16", "allocs/turn"),
		none("Acquire with 10,000 waiters allocates nothing", "Blocked/waiters=10000", "allocs/turn"),
		{
			Claim:  "a Sliding window of 100 per second admits 100 in the worst second",
			Figure: Key{"Overshoot", "headrace", "in-worst-second"}, Most: 100, Always: true,
		},
		{
			Claim:  "a Fixed window of 100 per second admits 100 in the worst period of its calendar",
			Figure: Key{"Overshoot", "headrace-fixed", "in-worst-period"}, Most: 100, Always: true,
		},
		{
			Claim:  "the next admission after 20 waiters were cancelled, to the ideal time (Bucket)",
			Figure: Key{"CancelStorm", "headrace", "x-ideal"}, Most: 1.05, Always: true,
		},
		{
			Claim:  "the next admission after 20 waiters were cancelled, to the ideal time (Sliding)",
			Figure: Key{"CancelStorm", "headrace-sliding", "x-ideal"}, Most: 1.05, Always: true,
		},
		{
			Claim:  "admitted after lowering 1,000 per second to 10, to the ideal number (Bucket)",
			Figure: Key{"Lowered", "headrace", "x-ideal"}, Most: 1.2, Always: true,
		},
		{
			Claim:  "admitted after lowering 1,000 per second to 10, above what the history allows (Sliding)",
			Figure: Key{"LoweredHistory", "headrace-sliding", "excess"}, Most: 0, Always: true,
		},
		ratio("an item of a batch without limits", "Batch", "headrace", "ns/item", "errgroup", 0.5),
		{Claim: "memory for an item of a batch", Figure: Key{"Batch", "headrace", "B/item"}, Most: 64},
		{Claim: "allocations for an item of a batch", Figure: Key{"Batch", "headrace", "allocs/item"}, Most: 1},
		ratio("an item of a batch of flows of one step", "Flow", "headrace", "ns/item", "errgroup", 3),
		ratio("an item with limiter, controller and retry, beside retry and bulkhead", "BatchGuarded", "headrace", "ns/item", "failsafe-go", 0.75),
		ratio("an item with limiter, controller and retry, beside none of them", "BatchGuarded", "headrace", "ns/item", "errgroup", 1.5),
		ratio("an item with limiter, controller and retry on one core, beside none of them", "BatchGuardedOneCore", "headrace", "ns/item", "errgroup", 1.5),
		ratio("a streamed item, in order", "Stream", "headrace", "ns/item", "errgroup", 1),
		ratio("a call through an executor, beside a worker pool of channels", "Executor", "headrace", "ns/item", "channel-pool", 1.2),
		ratio("a call under Measured, beside AIMD", "Do", "measured", ns, "aimd", 1),
		{Claim: "allocations of a call under Measured, the call itself", Figure: Key{"Do", "measured", allocs}, Most: 1, Always: true},
		ratio("a line of headrace run with its journal, processor time", "Command", "headrace", "cpu-ns/line", "plain-loop", 2),
		{
			Claim:  "peak resident memory of 1,000,000 streamed items",
			Figure: Key{"Stream", "headrace", "peak-MB"}, Most: 32, Always: true,
		},
		ratio("a request by httpclient, HTTP/1.1", "Request/http1", "httpclient", ns, "net-http", 1.15),
		ratio("a request by httpclient, HTTP/2", "Request/http2", "httpclient", ns, "net-http", 1.15),
		ratio("a request by headrace.Transport, HTTP/1.1", "Request/http1", "transport", ns, "net-http", 1.05),
		ratio("a request by headrace.Transport, HTTP/2", "Request/http2", "transport", ns, "net-http", 1.05),
		ratio("a stream of 20 KB by headrace.Transport", "RequestStream", "transport", ns, "net-http", 1.1),
		more("allocations for a request by httpclient, HTTP/1.1", "Request/http1", "httpclient", allocs, "net-http", 20),
		more("allocations for a request by httpclient, HTTP/2", "Request/http2", "httpclient", allocs, "net-http", 20),
		more("allocations for a request by headrace.Transport, HTTP/1.1", "Request/http1", "transport", allocs, "net-http", 20),
		more("allocations for a request by headrace.Transport, HTTP/2", "Request/http2", "transport", allocs, "net-http", 20),
	}
}
