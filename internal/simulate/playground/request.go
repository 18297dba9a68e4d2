package playground

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Request is what the form of the page holds.
type Request struct {
	Provider    Provider `json:"provider"`
	Traffic     Traffic  `json:"traffic"`
	Controllers []string `json:"controllers"` // IDs
	Seed        uint32   `json:"seed"`
	Minutes     float64  `json:"minutes"` // simulated, after which a run ends if calls are left
}

// Provider is the side that has limits.
type Provider struct {
	Kind    Kind    `json:"kind"`
	Rate    float64 `json:"rate"`   // calls per minute; not for CallsInFlight
	Burst   float64 `json:"burst"`  // calls that a full token bucket admits at once; for token buckets only
	Change  float64 `json:"change"` // minutes until the rate changes; for RateHalves and RateDoubles
	Cap     int     `json:"cap"`    // for CallsInFlight
	Reports Reports `json:"reports"`
}

// Kind is the limit that a provider has.
type Kind string

// The kinds of providers.
const (
	SteadyRate    Kind = "steady"
	RateHalves    Kind = "halves"
	RateDoubles   Kind = "doubles"
	CallsInFlight Kind = "cap"
	FixedMinute   Kind = "minute"
)

// Reports is what the responses of a provider say about its limit.
type Reports string

// What a provider reports, each with what is above it.
const (
	Nothing    Reports = "nothing"
	RetryAfter Reports = "retry-after"
	Headers    Reports = "headers"
)

// Traffic is the side that makes calls.
type Traffic struct {
	AtOnce  int     `json:"atOnce"`  // callers, each of which waits for its call
	Seconds float64 `json:"seconds"` // that the provider works on a call, on average
	Calls   int     `json:"calls"`
}

// Problem is what is wrong with one field.
type Problem struct {
	Field string `json:"field"` // its name in JSON, without the struct around it
	Text  string `json:"text"`
}

// RequestError reports that a request cannot be run. It has every problem.
type RequestError struct{ Problems []Problem }

// Error implements error.
func (e *RequestError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.Field + " " + p.Text
	}
	return "playground: " + strings.Join(texts, "; ")
}

// check returns a *RequestError if r cannot be run.
func (r *Request) check() error {
	var problems []Problem
	add := func(field, text string) { problems = append(problems, Problem{field, text}) }
	within := func(field string, value, low, high float64) {
		if !(value >= low && value <= high) { // NaN is not
			add(field, "must be between "+grouped(low)+" and "+grouped(high))
		}
	}
	p, t := &r.Provider, &r.Traffic
	switch p.Kind {
	case SteadyRate, RateHalves, RateDoubles:
		within("burst", p.Burst, 1, 10_000)
	case CallsInFlight:
		within("cap", float64(p.Cap), 1, 1000)
	case FixedMinute:
	default:
		add("kind", fmt.Sprintf("is %q, which is not a kind of provider", p.Kind))
	}
	if p.Kind != CallsInFlight {
		within("rate", p.Rate, 1, 60_000)
	}
	if p.Kind == RateHalves || p.Kind == RateDoubles {
		within("change", p.Change, 0.1, most)
	}
	if p.Kind == FixedMinute && p.Rate != float64(int(p.Rate)) {
		add("rate", "must be a whole number for a fixed minute")
	}
	if !slices.Contains([]Reports{Nothing, RetryAfter, Headers}, p.Reports) {
		add("reports", fmt.Sprintf("is %q, which is not one of the choices", p.Reports))
	}
	within("atOnce", float64(t.AtOnce), 1, 500)
	within("seconds", t.Seconds, 0.05, 300)
	within("calls", float64(t.Calls), 1, 200_000)
	within("minutes", r.Minutes, least, most)
	if len(r.Controllers) == 0 {
		add("controllers", "are missing: choose at least one")
	}
	for i, id := range r.Controllers {
		switch {
		case find(id) == nil:
			add("controllers", fmt.Sprintf("have %q, which does not exist", id))
		case slices.Contains(r.Controllers[:i], id):
			add("controllers", fmt.Sprintf("have %q twice", id))
		}
	}
	if problems != nil {
		return &RequestError{problems}
	}
	return nil
}

// How long a run may be, in minutes. The least is more than client.WarmUp,
// which every run of the simulator begins with.
const least, most = 3.0, 120.0

// grouped prints a number with commas between thousands.
func grouped(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if x < 1000 {
		return text
	}
	return text[:len(text)-3] + "," + text[len(text)-3:]
}

// What a call takes beside the provider's work on it.
const (
	net     = 20 * time.Millisecond // each way
	refusal = 150 * time.Millisecond
)

// scenario is the world of r.
func (r *Request) scenario() scenario.Scenario {
	p, t := &r.Provider, &r.Traffic
	s := scenario.Scenario{Setting: client.Setting{
		Latency: seconds(t.Seconds), Net: net, Refusal: refusal,
		Callers: t.AtOnce, Processes: 1, Pool: t.AtOnce, Items: t.Calls,
		Lasts: seconds(60*r.Minutes) - client.WarmUp,
	}}
	switch p.Kind {
	case CallsInFlight:
		s.Provider.Cap = p.Cap
	case FixedMinute:
		s.Provider.Minute = int(p.Rate)
	case SteadyRate, RateHalves, RateDoubles:
		s.Provider.Requests = provider.Bucket{PerMinute: p.Rate, Burst: p.Burst}
	}
	change := provider.Change{At: seconds(60 * p.Change)}
	switch p.Kind {
	case RateHalves:
		change.Factor = 0.5
	case RateDoubles:
		change.Factor = 2
	case SteadyRate, CallsInFlight, FixedMinute:
	}
	if change.Factor > 0 {
		s.Changes = []provider.Change{change}
	}
	if p.Reports != Nothing {
		s.Provider.RetryAfter = provider.WholeSeconds
	}
	return s
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
