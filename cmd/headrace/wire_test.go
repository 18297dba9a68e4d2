package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/providertest"
)

// A server that closes every second request of a connection without an answer
// gets no more requests than the limit allows: net/http sends none again.
func TestEveryRequestOnTheWirePassesTheLimit(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(60)
	var arrived atomic.Int64
	var seen sync.Map // connections that have had a request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if _, again := seen.LoadOrStore(r.RemoteAddr+conn.String(), true); again {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[]}`)
	}))
	defer s.Close()
	status, _, errs := p.do("run", "r.jsonl", "--api-key-env", "KEY", "--base-url", s.URL+"/v1", "--concurrency", "4",
		"--limit", "20/h", "--max-wait", "1ms")
	assert.Contains(t, []int{1, 75}, status, "a request that was cut off and may not be sent again has failed")
	assert.EqualValues(t, 20, arrived.Load(), errs)
}
