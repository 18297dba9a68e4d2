package report

// A Section is a table of the page: one operation, or one family of them that
// differ in a parameter.
type Section struct {
	Title, Text string
	Op          string   // without parameters
	Unit        string   // what is compared
	Reference   string   // the contender that the others are divided by; none shows the figures
	Extra       []string // units to show as they are
}

// Sections are the tables of the page.
func Sections() []Section {
	const ns, bytes, allocs = "ns/op", "B/op", "allocs/op"
	timed := func(title, op, text string) Section {
		return Section{Title: title, Op: op, Text: text, Unit: ns, Reference: "x-time-rate"}
	}
	withMemory := func(s Section) Section {
		s.Extra = []string{bytes, allocs}
		return s
	}
	return []Section{
		withMemory(timed("Allow", "Allow", "One admission by one window that has room. headrace is a Bucket, the algorithm of x-time-rate; "+
			"headrace-sliding is an exact Sliding window, headrace-quantised one above 1,024 entries. sethvargo-limiter and throttled look a key up.")),
		timed("Allow in many goroutines", "AllowParallel", "All goroutines share one limiter, and start when all cores are running."),
		timed("Allow in many goroutines on one core", "AllowOneCore", "The same without contention: the goroutines take turns on one core."),
		withMemory(timed("Three windows", "ThreeWindows", "headrace asks all windows at one instant and takes from all or none. x-time-rate is three Allows, "+
			"which keep what the first took when the third refuses; x-time-rate-reserve gives it back.")),
		timed("Three windows in many goroutines", "ThreeWindowsParallel", ""),
		withMemory(timed("TryAcquire and Release", "TryAcquire", "A slot and a window together, and the slot given back. x-time-rate is an Allow, "+
			"without a slot; x-sync-semaphore, channel and the bulkhead of failsafe-go are a slot without a window or a clock, as is headrace-slot-only.")),
		timed("TryAcquire and Release in many goroutines", "TryAcquireParallel", ""),
		withMemory(timed("Acquire without a wait", "Acquire", "The blocking call, when there is room; for x-time-rate it is Wait. Each peer has either a window or a slot, headrace has both.")),
		{
			Title: "Blocked: a turn of the slot", Op: "Blocked", Unit: "ns/turn", Reference: "x-sync-semaphore",
			Text: "One slot, and the given number of goroutines waiting for it: the time from one release to the next. headrace-window also checks a window.",
		},
		{Title: "Blocked: allocations", Op: "Blocked", Unit: "allocs/turn", Text: "Per turn."},
		{
			Title: "Waiting for a window", Op: "Wait", Unit: "cpu-ns/op", Reference: "x-time-rate",
			Text: "64 goroutines wait for one window of 20,000 per second: the processor time of an admission.",
		},
		{
			Title: "Cancelled waits", Op: "Cancel", Unit: "ns/cancel", Reference: "x-time-rate",
			Text: "The given number of calls wait, and all are cancelled at once: the time until all have returned, per call. channel is the cost of the runtime alone.",
		},
		{
			Title: "Memory of a waiter", Op: "WaiterMemory", Unit: "B/waiter",
			Text: "Heap bytes for each of 10,000 waiters, besides its goroutine. channel is what the runtime needs to block.",
		},
		{
			Title: "Keys", Op: "Keys", Unit: ns, Reference: "x-time-rate",
			Text: "One admission by the limiter of a random key. headrace, x-time-rate and failsafe-go are limiters in a map behind a read-write lock; the others have keys built in.",
		},
		{Title: "Memory of a key", Op: "Keys", Unit: "B/key", Text: "Bytes of heap for a key and its limiter, without the string. sethvargo-limiter drops unused keys; the others keep them."},
		{
			Title: "Changing the rate", Op: "Resize", Unit: ns, Reference: "x-time-rate",
			Text: "One SetLimits. x-time-rate does not change calls that already wait (see Lowering); headrace examines its queue again.",
		},
		{
			Title: "Batch", Op: "Batch", Unit: "ns/item", Reference: "errgroup", Extra: []string{"B/item", "allocs/item"},
			Text: "10,000 items that do nothing, sixteen at once, without limits, results in order.",
		},
		{
			Title: "Batch of flows", Op: "Flow", Unit: "ns/item", Reference: "errgroup", Extra: []string{"B/item", "allocs/item"},
			Text: "10,000 items that each go through a flow of one step, which does nothing, sixteen at once, results in order. errgroup calls the function of the step.",
		},
		{
			Title: "Executor", Op: "Executor", Unit: "ns/item", Reference: "channel-pool", Extra: []string{"B/item", "allocs/item"},
			Text: "10,000 calls that do nothing, submitted one by one to sixteen workers behind a queue of 1,000, and then waited for. " +
				"channel-pool is the worker pool that people write by hand: a channel of jobs, and a channel for each result.",
		},
		{
			Title: "Guarded batch", Op: "BatchGuarded", Unit: "ns/item", Reference: "failsafe-go", Extra: []string{"B/item", "allocs/item"},
			Text: "The same with limits that never bind and retries: headrace with a window, a controller and a retry policy; errgroup without any of them; failsafe-go with retry and bulkhead " +
				"in an errgroup, failsafe-go-limited with a rate limiter too.",
		},
		{
			Title: "Guarded batch on one core", Op: "BatchGuardedOneCore", Unit: "ns/item", Reference: "failsafe-go",
			Text: "The same on one core: the sixteen workers take turns, so they do not contend for the limiter.",
		},
		{
			Title: "A call under a controller", Op: "Do", Unit: ns, Reference: "aimd", Extra: []string{bytes, allocs},
			Text: "A call that does nothing under a limiter with room, and the controller that judges the result.",
		},
		{
			Title: "headrace run", Op: "Command", Unit: "cpu-ns/line", Reference: "plain-loop",
			Text: "A file of 20,000 chats, to a server in another process: the processor time of headrace run with its journal, and of a loop in Go that reads a line, posts it " +
				"and writes the answer, sixteen at once, without limits, retries or a journal.",
		},
		{
			Title: "Streamed items", Op: "Stream", Unit: "ns/item", Reference: "errgroup", Extra: []string{"peak-MB"},
			Text: "1,000,000 items, sixteen at once, results counted and dropped, in a process of its own; its peak resident memory (VmHWM) in MB of 10^6 bytes. " +
				"headrace, rill and conc-stream keep the order, errgroup does not. loop is the process without a batch.",
		},
		{
			Title: "A request", Op: "Request", Unit: ns, Reference: "net-http",
			Text: "A small chat is posted over loopback to a server in another process, and its answer read: HTTP/1.1, and HTTP/2 with TLS. " +
				"net-http is an http.Client with a Transport of its own. transport is headrace.Transport around the same with limits that never bind; " +
				"httpclient-transport is both together; httpclient-observed has an observer, which does nothing. " +
				"retryablehttp retries, and has no limits and no timeouts; otelhttp has its spans and metrics turned off.",
		},
		{
			Title: "A stream", Op: "RequestStream", Unit: ns, Reference: "net-http", Extra: []string{bytes, allocs},
			Text: "A response of 20 KB in about 130 events, each flushed separately, over HTTP/1.1.",
		},
		{Title: "A request: allocations", Op: "Request", Unit: allocs, Text: "In the client's process, including those of net/http."},
		{
			Title: "Overshoot", Op: "Overshoot", Unit: "in-worst-second",
			Text: "A limit of 100 per second. A client calls once, pauses, and then calls as often as it is allowed: the most calls admitted in any one second. " +
				"A Bucket and a Fixed window allow it, as the peers do: only Sliding is exact. sethvargo-limiter reads the system's clock past synctest and was measured by it.",
		},
		{
			Title: "Cancel storm", Op: "CancelStorm", Unit: "delay-ms",
			Text: "At 10 per second, 20 calls wait and are cancelled, in a random order, 50 ms before the next admission. The next call ideally waits 50 ms; the worst of 20 orders. " +
				"uber-ratelimit cannot be cancelled; sethvargo-limiter and throttled do not wait.",
		},
		{
			Title: "Lowering", Op: "Lowered", Unit: "admitted",
			Text: "500 calls wait at 1,000 per second, which becomes 10 per second: how many are admitted in the next 500 ms, ideally 5. failsafe-go and uber-ratelimit cannot be changed.",
		},
		{
			Title: "Raising", Op: "Raised", Unit: "admitted",
			Text: "200 calls wait at 10 per second, which becomes 1,000 per second: how many are admitted in the next 100 ms, ideally 100.",
		},
		{
			Title: "Resizing slots: calls begun after lowering", Op: "SlotsResized", Unit: "after-lowering",
			Text: "1,000 calls of 100 ms share 64 slots, which are reduced to 4: how many begin in the next 100 ms, ideally 4. " +
				"The size of a semaphore cannot be changed: a caller holds the difference, and queues for it like any other.",
		},
		{
			Title: "Resizing slots: calls begun at once after raising", Op: "SlotsResized", Unit: "after-raising",
			Text: "The 4 become 64 again: ideally 60.",
		},
	}
}
