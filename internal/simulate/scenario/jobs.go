package scenario

import (
	"cmp"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// Jobs returns the small jobs: so few items that probing for a limit, or waiting after
// a rejection, takes a large part of the time. Each is done without and, where a rate is
// documented, with a preset.
func Jobs() (all []Scenario) {
	const second = time.Second
	ten := perMinute(600, 10)
	for _, j := range []struct {
		about    string
		items    []int
		provider provider.Config
		preset   func(*Scenario)
		more     []func(*Scenario)
	}{
		{"20 in flight", []int{20, 200}, provider.Config{Cap: 20}, nil, nil},
		{"60/min b60", []int{20, 200}, perMinute(60, 60), documented(60, 0), nil},
		{"600/min b10", []int{20, 200, 2000}, ten, documented(600, 0), nil},
		{"600/min b10, silent", []int{20, 200}, silent(ten), documented(600, 0), nil},
		{"600/min b60", []int{20, 200}, perMinute(600, 60), documented(600, 0), nil},
		{"500 a minute of the clock", []int{20, 200}, provider.Config{Minute: 500, RetryAfter: provider.WholeSeconds}, documented(500, 0), nil},
		{"60,000 tokens/min", []int{20}, spending(perMinute(600, 60), 60_000, 60_000), documented(600, 60_000), []func(*Scenario){counted(0, 1, 1)}},
		{"50/s b50, calls of 0.2 s", []int{20, 2000}, perMinute(3000, 50), documented(3000, 0), []func(*Scenario){near(second/5, 32)}},
		{"no limit, calls of 6 ms", []int{20, 2000}, provider.Config{}, nil, []func(*Scenario){short}},
		{"0.05 % stray 429s, calls of 6 ms", []int{2000}, strays429(0.0005), nil, []func(*Scenario){short, within(2)}},
		{"0.15 % stray 429s, calls of 6 ms", []int{2000}, strays429(0.0015), nil, []func(*Scenario){short, within(2.6)}},
		{"1 % stray 429s, calls of 6 ms", []int{2000}, strays429(0.01), nil, []func(*Scenario){short, within(10)}},
	} {
		for _, n := range j.items {
			job := func(s *Scenario) {
				s.Items, s.Callers, s.Lasts, s.Slower = n, cmp.Or(s.Pool, 32), hour, cmp.Or(s.Slower, jobTime)
			}
			name := strconv.Itoa(n) + " items: " + j.about
			all = append(all, of(name, name, j.provider, append(j.more, job)...))
			if j.preset != nil {
				all = append(all, of(name+", preset", name+", documented", j.provider, append(j.more, job, j.preset)...))
			}
		}
	}
	return all
}

// jobTime is how many times as long as the oracle a job may take, unless it has a bound of its own.
const jobTime = 1.2

// within is that bound where the oracle takes 1.56 s, in seconds.
func within(seconds float64) func(*Scenario) {
	return func(s *Scenario) { s.Slower = seconds / 1.56 }
}

// strays429 has no limit, and rejects a share of the calls.
func strays429(share float64) provider.Config {
	return striking(provider.Config{}, stray(share, plain(provider.TooMany)))
}

// short calls are those of a service on the same machine, by eight workers.
func short(s *Scenario) {
	s.Latency, s.Refusal, s.Net, s.Pool = 6*time.Millisecond, time.Millisecond, 50*time.Microsecond, 8
}
