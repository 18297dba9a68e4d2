// Package provider is a fake provider as a server: limits that may move while it runs, faults, and a
// ledger that reveals both.
package provider

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/throttle"
)

// LimitError is a limit that the provider does not support.
type LimitError struct {
	Text    string
	Problem string // what is wrong and how to correct it
}

// Error names the limit.
func (e *LimitError) Error() string { return e.Text + ": " + e.Problem }

// Limits parses texts such as "50/s, 8 concurrent". There is at most one limit for requests and one for each kind of tokens:
// a bucket that holds what the window admits at once, and refills continuously.
func Limits(texts []string) (to providertest.Limits, err error) {
	for _, text := range texts {
		l, err := throttle.ParseLimits(text)
		if err != nil {
			return to, err
		}
		if l.Concurrency > 0 && to.Concurrency > 0 {
			return to, &LimitError{text, "calls in flight are already limited: use only one limit"}
		}
		to.Concurrency += l.Concurrency
		for _, w := range l.Windows {
			if err := allow(&to, w); err != nil {
				return to, err
			}
		}
	}
	return to, nil
}

// The bounds of a providertest.Bucket.
const (
	fastest = 1e6 // per second
	longest = 366 * 24 * time.Hour
)

func allow(to *providertest.Limits, w throttle.Window) error {
	if text := w.String(); strings.HasPrefix(text, "fixed ") {
		return &LimitError{text, "calendar windows are not supported: use the form \"500/min\""}
	}
	bucket := map[throttle.Unit]*providertest.Bucket{
		throttle.Requests: &to.Rate, throttle.Tokens: &to.Tokens,
		throttle.InputTokens: &to.InputTokens, throttle.OutputTokens: &to.OutputTokens,
	}[w.Unit()]
	switch {
	case bucket == nil:
		return &LimitError{w.String(), "the unit is not supported: the provider counts requests and tokens"}
	case *bucket != providertest.Bucket{}:
		return &LimitError{w.String(), "there is already a limit of that kind: use only one"}
	}
	wanted := providertest.Bucket{PerSecond: w.Rate(), Burst: int(w.Max())}
	switch {
	case wanted.PerSecond > fastest:
		return &LimitError{w.String(), "the provider admits at most 1,000,000 a second"}
	case w.Per() > longest:
		return &LimitError{w.String(), "it takes more than 366 days to refill: give a shorter period"}
	}
	*bucket = wanted
	return nil
}

// Range is the range of a hidden limit, in requests per second.
type Range struct{ Low, High int }

// ParseRange parses a range such as "30-60/s" or "30-60".
func ParseRange(text string) (r Range, err error) {
	var rest string
	n, _ := fmt.Sscanf(strings.TrimSuffix(text, "/s")+" .", "%d-%d %s", &r.Low, &r.High, &rest)
	if n != 3 || rest != "." || r.Low < 1 || r.High < r.Low || r.High > mostRate {
		return r, &LimitError{text, fmt.Sprintf("it has to be two rates in requests per second, from 1 to %d, such as 30-60", mostRate)}
	}
	return r, nil
}

const mostRate = 100_000

// draw returns a random rate of the range. If the range allows, it is not close to the previous one, so
// that the change is visible.
func (r Range) draw(random *rand.Rand, before int) int {
	rate := r.Low
	for range 20 {
		rate = r.Low + random.IntN(r.High-r.Low+1)
		if before == 0 || 4*abs(rate-before) >= before {
			break
		}
	}
	return rate
}

func abs(n int) int { return max(n, -n) }

// perSecond returns a bucket that holds the requests of one second.
func perSecond(rate int) providertest.Bucket {
	return providertest.Bucket{PerSecond: float64(rate), Burst: rate}
}
