package redact

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

// A Collector keeps the credentials that requests are sent with. The zero value is ready to use, and safe for
// concurrent use.
type Collector struct {
	around *Collector // hears the same

	mu      sync.Mutex // guards the rest
	headers []string
	values  []string
}

type collectorKey struct{}

// Within returns a context under which Sent reaches c, and the collector that ctx has already.
// Call it once, before requests are sent.
func (c *Collector) Within(ctx context.Context) context.Context {
	c.around = collectorOf(ctx)
	return context.WithValue(ctx, collectorKey{}, c)
}

func collectorOf(ctx context.Context) *Collector {
	c, _ := ctx.Value(collectorKey{}).(*Collector)
	return c
}

// Sent says that a request under ctx is sent with this credential in this header, so that what keeps the response
// can leave it out.
func Sent(ctx context.Context, header, value string) {
	for c := collectorOf(ctx); c != nil; c = c.around {
		c.add(header, value)
	}
}

func (c *Collector) add(header, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.headers, header) {
		c.headers = append(c.headers, header)
	}
	if !slices.Contains(c.values, value) {
		c.values = append(c.values, value)
	}
}

// Headers returns the names of the headers.
func (c *Collector) Headers() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// Credentials returns every form in which a response may repeat them, the longest first.
func (c *Collector) Credentials() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Secrets(&http.Request{Header: http.Header{"Authorization": slices.Clone(c.values)}})
}
