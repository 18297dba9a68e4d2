package headrace_test

import (
	"io"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
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

// A client may talk to any number of hosts: with a preset, too, their limiters are bounded.
func TestTheLimitersOfManyHostsAreBounded(t *testing.T) {
	for _, preset := range []presets.ID{"", "openai/tier1"} {
		clock := clockwork.NewFakeClock()
		reg, err := registry.New(registry.Config{Clock: clock})
		require.NoError(t, err)
		rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
			return answer(http.StatusOK, "", "{}"), nil
		}), preset, headrace.WithRegistry(reg))
		const hosts = 9000
		for i := range hosts {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h"+strconv.Itoa(i)+".test/v1", http.NoBody)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			read(t, resp)
			clock.Advance(time.Second) // a minute later, nothing of the preset's limits is used
		}
		assert.Less(t, len(reg.Names()), hosts*3/4, preset)
		assert.NotNil(t, reg.Get(reg.Names()[0]))
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
