package executor

import (
	"cmp"
	"slices"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

// The defaults of a Config.
const (
	defaultQueue       = 1000
	defaultConcurrency = 10
	defaultKeep        = 4 << 10
)

const (
	maxQueue   = 1 << 24 // at a kilobyte each that is 16 GB
	maxWorkers = 1 << 20
)

// Rate is at most N units in any interval of length Per or, with a Burst, N
// per Per on average and up to Burst at once. The zero Rate is no limit.
type Rate struct {
	N     int64
	Per   time.Duration
	Burst int64
}

// Config describes an executor. The zero Config is ready to use. Fields that
// contradict each other are an error that names both.
type Config struct {
	// Name is the executor's in errors, events and the IDs of tasks. Empty means "executor".
	Name string

	// Queue is how many tasks may wait in the queue, besides those that are
	// worked on. 0 means 1,000; the most is 16,777,216.
	Queue int

	// Concurrency is how many calls are made at the same time at most. A call
	// that waits for the limits counts, one between two attempts does not. 0
	// means Limits.Concurrency or, if that is 0 too, 10.
	Concurrency int

	// Workers is how many goroutines work on tasks: the most that
	// SetConcurrency can allow later on. More than Concurrency let
	// others go on while tasks wait for another attempt. 0 means Concurrency.
	Workers int

	// Requests and Tokens limit the rate of calls and of what they cost by
	// WithCost: Rate{N: 500, Per: time.Minute}.
	Requests, Tokens Rate

	// Limits are any other limits, in place of Requests and Tokens. They are
	// hard caps that are never learnt away.
	Limits throttle.Limits

	// Limiter is one to share with others, such as one of a registry. It
	// excludes everything that describes a limiter of the executor's own:
	// Requests, Tokens, Limits, Law, Preset, Dialect, Detector and MaxWait.
	Limiter *adaptive.Limiter

	// Law is the control law. Nil means adaptive.Measured, beginning at Concurrency.
	// Without a Law, Preset or any limit there is nothing to wait for until the
	// provider refuses a call; from then on the law is asked.
	Law adaptive.Law

	// Preset is what the provider documents, such as presets.OpenAITier1: where the
	// law starts, and the dialect. One that is marked Hard is a cap.
	Preset presets.ID

	// Dialect is how the provider speaks about its limits. Nil means that of Preset.
	Dialect dialect.Dialect

	// Detector tells a refusal for rate from other errors. It is asked first,
	// then Dialect, at last adaptive.DefaultDetector.
	Detector adaptive.Detector

	// MaxWait is how long a refused call may wait to go again. 0 means 15 minutes.
	MaxWait time.Duration

	// Retry repeats failed attempts; a refusal for rate is none. Nil means that
	// there is one attempt.
	Retry *retry.Policy

	// Breaker refuses calls while the other side does not work. Nil means none.
	Breaker *breaker.Breaker

	// Timeout bounds each attempt, counted from its admission. 0 means that only
	// the task's context does.
	Timeout time.Duration

	// Keep is how many bytes of a payload and of an answer's body Task.Info shows, each.
	// 0 means 4 KiB, a negative number none.
	Keep int

	// Observer is told the events of the executor and its limiter, besides the
	// observers in the context of each task.
	Observer event.Observer

	// Clock replaces the real clock, for tests with virtual time; nil keeps the real one.
	Clock clockwork.Clock
}

// Validate reports every problem at once, each as a *fault.FieldError that names its field.
func (c Config) Validate() error {
	c = c.filled()
	p := invalid.Problems{Owner: "executor: " + c.Name}
	between(&p, "Queue", c.Queue, maxQueue, "for the default of 1,000")
	between(&p, "Concurrency", c.Concurrency, maxWorkers, "for Limits.Concurrency, or 10")
	between(&p, "Workers", c.Workers, maxWorkers, "for as many as Concurrency")
	if c.Concurrency > c.Workers && c.Workers > 0 {
		p.Addf("Workers", "%d cannot make the %d calls of Concurrency at the same time: raise Workers, or leave it 0", c.Workers, c.Concurrency)
	}
	if c.Limits.Concurrency > 0 && c.Limits.Concurrency != c.Concurrency {
		p.Addf("Concurrency", "%d contradicts the %d of Limits.Concurrency: leave one of them out", c.Concurrency, c.Limits.Concurrency)
	}
	if c.Timeout < 0 {
		p.Addf("Timeout", "%s is negative: leave it 0 for no timeout", c.Timeout)
	}
	c.Requests.check(&p, "Requests", throttle.Requests)
	c.Tokens.check(&p, "Tokens", throttle.Tokens)
	if c.Retry != nil {
		p.AddPart("Retry", c.Retry.Validate())
	}
	if c.Limiter != nil {
		c.checkShared(&p)
	} else {
		c.checkOwn(&p)
	}
	return p.Err()
}

func between(p *invalid.Problems, field string, n, most int, or string) {
	if n < 0 || n > most {
		p.Addf(field, "%d is not between 1 and %d; 0 stands %s", n, most, or)
	}
}

// checkShared is for an executor with a limiter that it did not make.
func (c Config) checkShared(p *invalid.Problems) {
	for field, given := range c.own() {
		if given {
			p.Addf("Limiter", "it excludes %s: the limiter has its own", field)
		}
	}
}

// own yields the fields that describe a limiter of the executor's own, and whether they are set.
func (c Config) own() func(yield func(field string, given bool) bool) {
	all := []struct {
		field string
		given bool
	}{
		{"Requests", c.Requests != Rate{}},
		{"Tokens", c.Tokens != Rate{}},
		{"Limits", c.Limits.Concurrency != 0 || len(c.Limits.Windows) > 0},
		{"Law", c.Law != nil},
		{"Preset", c.Preset != ""},
		{"Dialect", c.Dialect != nil},
		{"Detector", c.Detector != nil},
		{"MaxWait", c.MaxWait != 0},
	}
	return func(yield func(string, bool) bool) {
		for _, one := range all {
			if !yield(one.field, one.given) {
				return
			}
		}
	}
}

func (c Config) checkOwn(p *invalid.Problems) {
	if len(c.Limits.Windows) > 0 {
		if c.Requests != (Rate{}) {
			p.Addf("Limits", "its windows stand in place of Requests: say it in one of them")
		}
		if c.Tokens != (Rate{}) {
			p.Addf("Limits", "its windows stand in place of Tokens: say it in one of them")
		}
	}
	p.AddPart("Limits", c.Limits.Validate())
	if c.Dialect != nil && invalid.Nil(c.Dialect) {
		p.Addf("Dialect", "it is a nil pointer: dialect.Auto finds out who speaks")
	}
	if n, ok := c.Dialect.(dialect.Name); ok {
		_, err := dialect.ByName(string(n))
		p.AddPart("Dialect", err)
	}
	if c.Preset != "" {
		_, err := c.Preset.Profile()
		p.AddPart("Preset", err)
	}
	_, err := adaptive.New(adaptive.Config{Name: c.Name, Law: c.Law, MaxWait: c.MaxWait})
	p.Add(err)
}

func (r Rate) check(p *invalid.Problems, field string, u throttle.Unit) {
	switch {
	case r == Rate{}:
	case r.N < 1 || r.N > throttle.MaxAmount:
		p.Addf(field, "N is %d; want 1 to %d units in each Per", r.N, int64(throttle.MaxAmount))
	case r.Per <= 0:
		p.Addf(field, "Per is %s; want a positive duration, such as time.Minute", r.Per)
	case r.Burst < 0 || r.Burst > throttle.MaxAmount:
		p.Addf(field, "Burst is %d; want 0 for a window that is never exceeded, or how many may go at once", r.Burst)
	default:
		p.AddPart(field, throttle.Limits{Windows: []throttle.Window{r.window(u)}}.Validate())
	}
}

// window is the rate as a window of unit u.
func (r Rate) window(u throttle.Unit) throttle.Window {
	if r.Burst > 0 {
		return throttle.Bucket(float64(r.N)/r.Per.Seconds(), r.Burst).Of(u)
	}
	return throttle.Sliding(r.N, r.Per).Of(u)
}

// filled is c with the defaults.
func (c Config) filled() Config {
	c.Name = cmp.Or(c.Name, "executor")
	c.Queue = cmp.Or(c.Queue, defaultQueue)
	c.Concurrency = cmp.Or(c.Concurrency, max(0, c.Limits.Concurrency), defaultConcurrency)
	c.Workers = cmp.Or(c.Workers, c.Concurrency)
	c.Keep = max(0, cmp.Or(c.Keep, defaultKeep))
	return c
}

// limits reports whether calls pass through the limiter from the start.
func (c Config) limits() bool {
	return c.Limiter != nil || c.Requests != Rate{} || c.Tokens != Rate{} || len(c.Limits.Windows) > 0 || c.Law != nil || c.Preset != ""
}

// limiter is what the executor's own limiter is made of. The concurrency is
// not among its limits: the executor counts its slots itself, since a limiter
// that is shared has to leave room for others.
func (c Config) limiter() adaptive.Config {
	own := adaptive.Config{Name: c.Name, Law: c.Law, Detector: c.Detector, MaxWait: c.MaxWait}
	own.Limits.Windows = slices.Clone(c.Limits.Windows)
	if c.Requests != (Rate{}) {
		own.Limits.Windows = append(own.Limits.Windows, c.Requests.window(throttle.Requests))
	}
	if c.Tokens != (Rate{}) {
		own.Limits.Windows = append(own.Limits.Windows, c.Tokens.window(throttle.Tokens))
	}
	var speaks adaptive.Detector
	law, measured := c.Law.(adaptive.Measured)
	initial := c.Concurrency
	if c.Preset != "" {
		profile, _ := c.Preset.Profile() // Validate has seen that there is one
		given := profile.Config()
		speaks = given.Detector
		switch {
		case c.Law == nil || measured && law.Prior.Concurrency == 0 && len(law.Prior.Windows) == 0:
			law.Prior = profile.Prior()
			if n := profile.Limits.Concurrency; n > 0 {
				initial = min(initial, n)
			}
		case !measured: // it cannot start from the limits, and would not know of them
			given.Limits = profile.Limits
		}
		own.Limits.Windows = append(own.Limits.Windows, given.Limits.Windows...)
		own.Limits.Concurrency = given.Limits.Concurrency
	}
	if c.Law == nil || measured {
		law.Max = cmp.Or(law.Max, max(law.WithDefaults().Max, c.Workers))
		law.Initial = cmp.Or(law.Initial, min(law.Max, initial))
		own.Law = law
	}
	if c.Dialect != nil {
		speaks = dialect.Detector(c.Dialect)
	}
	own.Detector = inTurn(c.Detector, speaks)
	return own
}

// inTurn asks first, and then the other. One that panics does not know the error.
func inTurn(first, then adaptive.Detector) adaptive.Detector {
	switch {
	case first == nil:
		return then
	case then == nil:
		return first
	}
	return func(err error) adaptive.Feedback {
		if f := ask(first, err); f.Verdict != adaptive.Unclassified {
			return f
		}
		return then(err)
	}
}

func ask(d adaptive.Detector, err error) (f adaptive.Feedback) {
	defer func() { _ = recover() }()
	return d(err)
}
