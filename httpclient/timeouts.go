package httpclient

import (
	"cmp"
	"time"

	"github.com/headrace/headrace/internal/invalid"
)

// The defaults of Timeouts. They are chosen by judgement: connections are made within seconds or not at all, and a
// language model may think for minutes before its first byte. The official SDK of OpenAI gives a call 10 min too.
const (
	defaultConnect  = 10 * time.Second
	defaultTLS      = 10 * time.Second
	defaultHeader   = 5 * time.Minute
	defaultBodyIdle = 2 * time.Minute
	defaultCall     = 10 * time.Minute
)

// Timeouts bounds each phase of an attempt. The zero value means the defaults.
type Timeouts struct {
	// Connect bounds looking up the host and connecting, over all its addresses, including the exchange
	// with a proxy. 0 means 10 s.
	Connect time.Duration
	// TLS bounds the handshake. 0 means 10 s.
	TLS time.Duration
	// Header bounds the time from the request sent to the response header. 0 means 5 min.
	Header time.Duration
	// BodyIdle bounds the wait for the next piece of a body, over HTTP/1.1 also of the request. Over HTTP/2 only Call bounds a
	// stream with a window that stays closed. 0 means 2 min.
	BodyIdle time.Duration
	// Call bounds the whole attempt, from the end of Config.Wrap until the body is read and closed. 0
	// means 10 min.
	Call time.Duration
	// NoCall removes the bound of Call, for endless streams. Reading the request's own body is then
	// unbounded too.
	NoCall bool
}

func (t Timeouts) validate(problems *invalid.Problems) {
	for _, one := range []struct {
		field     string
		d, normal time.Duration
	}{
		{"Timeouts.Connect", t.Connect, defaultConnect},
		{"Timeouts.TLS", t.TLS, defaultTLS},
		{"Timeouts.Header", t.Header, defaultHeader},
		{"Timeouts.BodyIdle", t.BodyIdle, defaultBodyIdle},
		{"Timeouts.Call", t.Call, defaultCall},
	} {
		if one.d < 0 {
			problems.Addf(one.field, "%v; want a positive duration, or 0 for %v", one.d, one.normal)
		}
	}
	if t.NoCall && t.Call != 0 {
		problems.Addf("Timeouts.NoCall", "contradicts Timeouts.Call, %v; leave one of them out", t.Call)
	}
}

func (t Timeouts) withDefaults() Timeouts {
	t.Connect = cmp.Or(t.Connect, defaultConnect)
	t.TLS = cmp.Or(t.TLS, defaultTLS)
	t.Header = cmp.Or(t.Header, defaultHeader)
	t.BodyIdle = cmp.Or(t.BodyIdle, defaultBodyIdle)
	if !t.NoCall {
		t.Call = cmp.Or(t.Call, defaultCall)
	}
	return t
}
