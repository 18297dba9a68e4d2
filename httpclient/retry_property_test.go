package httpclient_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/retry"
)

// story is a request and what the wire does with its attempts.
type story struct {
	method   string
	keyed    bool
	body     string
	attempts int
	jitter   bool
	maxWait  time.Duration
	deadline time.Duration // 0: none
	plays    []play
}

// asked is how long each Retry-After that can be read asks for.
var asked = map[string]time.Duration{
	"Retry-After: 0": 0, "Retry-After: 3": 3 * time.Second, "Retry-After: 30": 30 * time.Second, "Retry-After: 700": 700 * time.Second,
	"Retry-After-Ms: 2500": 2500 * time.Millisecond,
}

func stories() *rapid.Generator[story] {
	return rapid.Custom(func(t *rapid.T) story {
		s := story{
			method:   rapid.SampledFrom([]string{"GET", "PUT", "POST", "PATCH"}).Draw(t, "method"),
			keyed:    rapid.Bool().Draw(t, "keyed"),
			body:     rapid.SampledFrom([]string{"", "GetBody", "short", "once"}).Draw(t, "body"),
			attempts: rapid.IntRange(1, 5).Draw(t, "attempts"),
			jitter:   rapid.Bool().Draw(t, "jitter"),
			maxWait:  rapid.SampledFrom([]time.Duration{5 * time.Second, 15 * time.Minute}).Draw(t, "maxWait"),
			deadline: rapid.SampledFrom([]time.Duration{0, 0, 4 * time.Second, 40 * time.Second}).Draw(t, "deadline"),
		}
		for range rapid.IntRange(1, 6).Draw(t, "plays") {
			p := play{
				status: rapid.SampledFrom([]int{0, 0, 204, 404, 408, 429, 429, 500, 503, 503, 529}).Draw(t, "status"),
				unread: rapid.Bool().Draw(t, "unread"),
				takes:  rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "takes"),
			}
			if p.status == 0 {
				p.err = rapid.SampledFrom([]error{io.EOF, &net.OpError{Op: "dial", Err: io.EOF}, context.Canceled}).Draw(t, "error")
			} else {
				p.header = rapid.SampledFrom([]string{
					"", "Retry-After: 0", "Retry-After: 3", "Retry-After: 30", "Retry-After: 700", "Retry-After-Ms: 2500",
					"Retry-After: NaN", "Retry-After: inf", "Retry-After: -3",
				}).Draw(t, "header")
			}
			s.plays = append(s.plays, p)
		}
		return s
	})
}

// harmless says whether p may be followed by another attempt, by the rules as
// they are written down; refused whether it was for a refusal.
func (s story) harmless(p play) (again, refused bool) {
	_, readable := asked[p.header]
	safe := s.keyed || s.method == "GET" || s.method == "PUT"
	switch {
	case p.status == 429, p.status == 529, p.status == 503 && readable:
		return true, true
	case p.status == 408, p.status == 500, p.status == 503, p.err == io.EOF: //nolint:errorlint // the very one
		return safe, false
	default:
		return p.status == 0 && p.err != context.Canceled, false //nolint:errorlint // what is left is the dial
	}
}

// expected is when the attempts are made if nothing is left to chance.
func (s story) expected() (at []time.Duration) {
	var now time.Duration
	firstRefusal, delay, used := time.Duration(-1), time.Second, false
	for i := 0; ; i++ {
		p := s.plays[min(i, len(s.plays)-1)]
		at = append(at, now)
		now += p.takes
		used = used || !p.unread
		again, refused := s.harmless(p)
		if refused && firstRefusal < 0 {
			firstRefusal = now
		}
		wait := max(delay, asked[p.header])
		delay *= 2
		switch {
		case !again, len(at) == s.attempts, s.body == "once" && used,
			asked[p.header] > 10*time.Minute,
			firstRefusal >= 0 && now+wait-firstRefusal > s.maxWait,
			s.deadline > 0 && now+wait >= s.deadline:
			return at
		}
		now += wait
	}
}

func (s story) play(t *testing.T) *fake {
	t.Helper()
	f := &fake{plays: s.plays}
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		if s.deadline > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.deadline)
			defer cancel()
		}
		req := request(t, s.method, "http://h.example", nil).WithContext(ctx)
		if s.keyed {
			req.Header.Set("Idempotency-Key", "k")
		}
		bodyOf(s.body, req)
		p := retry.Policy{MaxAttempts: s.attempts, Initial: time.Second, NoJitter: !s.jitter}
		resp, err := httpclient.Retry(p, httpclient.RetryMaxWait(s.maxWait))(f).RoundTrip(req)
		if last := s.plays[min(len(f.sent), len(s.plays))-1]; last.status == 0 {
			require.Equal(t, last.err, err)
		} else {
			require.NoError(t, err)
			require.Equal(t, last.status, resp.StatusCode)
			resp.Body.Close()
		}
	})
	return f
}

func TestRetryProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := stories().Draw(rt, "story")
		if err := s.check(s.play(t)); err != nil {
			rt.Fatal(err)
		}
	})
}

func (s story) check(f *fake) error {
	if len(f.at) > s.attempts {
		return fmt.Errorf("%d attempts, %d allowed", len(f.at), s.attempts)
	}
	for i, at := range f.at {
		p := s.plays[min(i, len(s.plays)-1)]
		if s.body != "" && !p.unread && f.sent[i] != "abc" {
			return fmt.Errorf("attempt %d has the body %q", i, f.sent[i])
		}
		if i == len(f.at)-1 {
			break
		}
		if again, _ := s.harmless(p); !again {
			return fmt.Errorf("sent again after %+v", p)
		}
		if gap := f.at[i+1] - at - p.takes; gap < asked[p.header] {
			return fmt.Errorf("after %v, asked was for %v", gap, asked[p.header])
		}
	}
	for i := range f.bodies[:max(len(f.bodies)-1, 0)] {
		if f.bodies[i].closed.Load() != 1 {
			return fmt.Errorf("the answer %d was not closed", i)
		}
	}
	if want := s.expected(); !s.jitter && fmt.Sprint(want) != fmt.Sprint(f.at) {
		return fmt.Errorf("attempts at %v, want %v", f.at, want)
	}
	return nil
}

// Nothing of the request gets into what Retry says of it.
func TestRetryKeepsSecrets(t *testing.T) {
	const canary = "canary-7d1c"
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, canary)
	})
	var told requests
	var errs []error
	c := newClient(t, func(c *httpclient.Config) {
		p := retry.Policy{Initial: 1, NoJitter: true, Retryable: func(err error) bool {
			errs = append(errs, err)
			return true
		}}
		c.Wrap = append(c.Wrap, httpclient.Retry(p))
		c.Observer = &told
		c.Sign = func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+canary)
			return nil
		}
	})
	do(t, c, request(t, "GET", s.URL+"/?key="+canary, nil))
	require.Len(t, errs, 2)
	for _, err := range errs {
		require.NotContains(t, fmt.Sprintf("%v %+v %s", err, err, err), canary)
	}
	e := told.one(t)
	require.Equal(t, 3, e.Attempt)
	require.NotContains(t, fmt.Sprintf("%+v %+v", e, *e.Request), canary)
}
