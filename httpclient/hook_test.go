package httpclient

import (
	"net/http/httptrace"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The client's hooks run first, as those of httptrace.WithClientTrace do.
func TestHookRunsBeforeThatOfTheCaller(t *testing.T) {
	var a attempt
	var seen []step
	a.hook(&httptrace.ClientTrace{TLSHandshakeStart: func() { seen = append(seen, step(a.step.Load())) }})
	a.trace.TLSHandshakeStart()
	assert.Equal(t, []step{stepTLS}, seen)

	var order []string
	note := func(by string) func(int) { return func(int) { order = append(order, by) } }
	both(note("client"), note("caller"))(0)
	assert.Equal(t, []string{"client", "caller"}, order)
}
