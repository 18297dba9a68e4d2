package flowtest

import (
	"context"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// Step is how a provider answers one call. It is a value: methods return a changed copy. The zero Step
// is OK.
type Step struct {
	status     int // 0: 200, or what err says
	code       string
	header     http.Header
	body       string
	hasBody    bool
	err        error // in place of an answer
	retryAfter time.Duration
	refuses    bool
	hangs      bool
	panics     bool
	value      any // of the panic
	low, high  time.Duration
	timed      bool // else it takes usual
	do         []func()
	forwards   bool // to the round tripper behind the provider
}

// OK answers with the text of Body, or else the call's key.
func OK() Step { return Step{} }

// Refuse answers with a 429 and Retry-After (and Retry-After-Ms, if finer than a second); 0 omits the
// headers.
func Refuse(retryAfter time.Duration) Step {
	s := Step{status: http.StatusTooManyRequests, refuses: true, retryAfter: retryAfter}
	if retryAfter <= 0 {
		return s
	}
	seconds := int64((retryAfter-1)/time.Second) + 1
	s = s.Header("Retry-After", strconv.FormatInt(seconds, 10))
	if retryAfter%time.Second != 0 {
		ms := float64(retryAfter) / float64(time.Millisecond)
		s = s.Header("Retry-After-Ms", strconv.FormatFloat(ms, 'f', -1, 64))
	}
	return s
}

// Fail answers with a status from 400 to 599. For a 429 see Refuse.
func Fail(status int) Step {
	return Step{status: status, refuses: status == http.StatusTooManyRequests}
}

// FailWith returns err instead of an answer, as if the connection was lost.
func FailWith(err error) Step { return Step{err: err} }

// QuotaExhausted answers with a 429 that says that the account has no credit left.
func QuotaExhausted() Step {
	const code = "insufficient_quota"
	s := Step{status: http.StatusTooManyRequests, code: code}
	return s.Body(`{"error":{"type":"` + code + `","code":"` + code + `",` +
		`"message":"You exceeded your current quota, please check your plan and billing details."}}`)
}

// Hang never answers: the call ends with its context.
func Hang() Step { return Step{hangs: true} }

// Panic panics with v in the calling goroutine.
func Panic(v any) Step { return Step{panics: true, value: v} }

// usual is how long a step takes that does not say.
const usual = time.Millisecond

// Taking sets how long the step takes. The default is a millisecond, the minimum a nanosecond.
func (s Step) Taking(d time.Duration) Step { return s.TakingBetween(d, d) }

// TakingBetween draws the duration evenly from low to high, the same in every run for the same
// provider, key and attempt.
func (s Step) TakingBetween(low, high time.Duration) Step {
	s.low, s.high, s.timed = low, high, true
	return s
}

// Body sets the answer, or the body of an error.
func (s Step) Body(text string) Step {
	s.body, s.hasBody = text, true
	return s
}

// Header sets a header of the answer.
func (s Step) Header(name, value string) Step {
	if s.header = maps.Clone(s.header); s.header == nil {
		s.header = http.Header{}
	}
	s.header.Set(name, value)
	return s
}

// Do calls f when the call has arrived, such as the CancelFunc of its context.
func (s Step) Do(f func()) Step {
	s.do = append(slices.Clip(s.do), f)
	return s
}

// check notes what is wrong with s.
func (s Step) check(p *invalid.Problems, where string) {
	if s.status != 0 && (s.status < http.StatusBadRequest || s.status > 599) {
		p.Addf(where, "Fail: %d is not a status from 400 to 599", s.status)
	}
	if s.retryAfter < 0 {
		p.Addf(where, "Refuse: %s is negative", s.retryAfter)
	}
	if s.low < 0 || s.high < s.low {
		p.Addf(where, "TakingBetween: %s to %s is not a range", s.low, s.high)
	}
	if slices.ContainsFunc(s.do, func(f func()) bool { return f == nil }) {
		p.Addf(where, "Do: the function is nil")
	}
}

// wait returns when the step has taken its time, or why it did not. An answer
// that is due in the instant in which ctx ends still comes.
func (s Step) wait(ctx context.Context, a *arrival) error {
	if s.hangs {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	d := s.low
	if s.high > s.low {
		d += drawn(a, s.high-s.low)
	}
	if !s.timed {
		d = usual
	}
	if d -= tick; d <= 0 { // arriving took one
		return nil
	}
	began := time.Now()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		if time.Since(began) < d {
			return context.Cause(ctx)
		}
	}
	return nil
}

// drawn is evenly from 0 to most, and depends on what the call is alone.
func drawn(a *arrival, most time.Duration) time.Duration {
	h := fnv.New64a()
	for _, s := range []string{a.provider.name, a.key, strconv.Itoa(a.attempt)} {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	r := rand.New(rand.NewPCG(h.Sum64(), 1)) //nolint:gosec // a simulation, no secret
	return time.Duration(r.Int64N(min(int64(most), math.MaxInt64-1) + 1))
}
