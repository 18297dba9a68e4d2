package headrace_test

import (
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
)

// A program may hold responses for long after it has read them.
func TestAResponseKeepsNoLargeRequestAlive(t *testing.T) {
	for name, length := range map[string]int64{"a body of known length": 512 << 10, "a body of unknown length": -1} {
		t.Run(name, func(t *testing.T) {
			const size, calls = 512 << 10, 32
			rt := headrace.Transport(tripper(func(r *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close()
				return answer(http.StatusOK, "", "{}"), nil
			}), "", headrace.WithRegistry(emptyRegistry(t)))
			before := heap()
			held := make([]*http.Response, calls)
			for i := range held {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://provider.test/v1", io.LimitReader(blanks{}, size))
				require.NoError(t, err)
				req.ContentLength = length
				req.Header.Set("Content-Type", "application/json")
				held[i], err = rt.RoundTrip(req) //nolint:bodyclose // see read
				require.NoError(t, err)
				assert.Equal(t, "{}", read(t, held[i]))
			}
			assert.Less(t, heap()-before, int64(calls*size/4))
			runtime.KeepAlive(held)
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what is in pools is dropped at the second one
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// blanks is white space without an end.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
