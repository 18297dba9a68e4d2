package goodput

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// wire is how the calls of one process reach the provider.
type wire struct {
	transport http.RoundTripper
	url       string
	key       string // names the process in the ledger
	processes int    // of the run
}

const question = `{"model":"any","messages":[{"role":"user","content":"Say something."}]}`

// request makes the request of one item.
func (w *wire) request(ctx context.Context) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Idempotency-Key", w.key)
	return r, nil
}

// whole reads every answer to its end before it hands it on. A retry that drops
// a refusal unread would otherwise cost its connection, regardless of the retrier.
type whole struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t whole) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// statusError is an answer that is no success. It is shaped like the errors of
// the official SDKs.
type statusError struct {
	StatusCode int
	Type       string
	Response   *http.Response
}

func (e *statusError) Error() string { return fmt.Sprintf("status %d (%s)", e.StatusCode, e.Type) }

// meters is what the rate-limit headers of an answer say, if it has them all.
func meters(h http.Header) (m [throttle.Units]adaptive.Meter) {
	limit, bad1 := strconv.ParseInt(h.Get("X-Ratelimit-Limit-Requests"), 10, 64)
	left, bad2 := strconv.ParseInt(h.Get("X-Ratelimit-Remaining-Requests"), 10, 64)
	reset, bad3 := time.ParseDuration(h.Get("X-Ratelimit-Reset-Requests"))
	if bad1 == nil && bad2 == nil && bad3 == nil {
		m[throttle.Requests] = adaptive.Meter{Known: true, Limit: limit, Remaining: left, Reset: reset}
	}
	return m
}
