package headrace_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/breaker"
	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/throttle"
)

func perMinute(n int64) throttle.Limits {
	return throttle.Limits{Windows: []throttle.Window{throttle.Sliding(n, time.Minute)}}
}

// The limits of With hold beside those of the registry, which learns, and are
// not forgotten when the registry changes.
func TestLimitsOfWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := emptyRegistry(t)
		client := &http.Client{Transport: headrace.Transport(fine(), presets.OpenAITier1, headrace.WithRegistry(reg),
			headrace.With(guard.Policy{Limits: perMinute(2)}))}
		began := time.Now()
		for range 4 {
			read(t, post(t, client, "https://with.example/", `{}`)) //nolint:bodyclose // read does
			reg.For("another", time.Now().String())
		}
		assert.Equal(t, time.Minute, time.Since(began).Truncate(time.Second))
		assert.EqualValues(t, 4, reg.Get("openai/with.example/tier1").Stats().Admitted)
	})
}

// The delay before a retry goes by the clock of With, whatever that of the registry.
func TestARetryGoesByTheClockOfWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, sent := clockwork.NewFakeClock(), 0
		base := tripper(func(r *http.Request) (*http.Response, error) {
			if sent++; sent == 1 {
				return nil, io.ErrUnexpectedEOF
			}
			return fine().RoundTrip(r)
		})
		client := &http.Client{Transport: headrace.Transport(base, "", headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{Clock: clock}))}
		done := make(chan struct{})
		go func() {
			defer close(done)
			resp, err := client.Get("https://clock.example/")
			if assert.NoError(t, err) {
				assert.NoError(t, resp.Body.Close())
			}
		}()
		time.Sleep(time.Hour) // of the real clock
		synctest.Wait()
		assert.Equal(t, 1, sent)
		clock.Advance(time.Minute)
		<-done
		assert.Equal(t, 2, sent)
	})
}

// The guards of hosts that are not used any more are forgotten, others are not.
func TestGuardsOfATransportAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := headrace.Transport(fine(), "", headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{Limits: perMinute(1)}))
		client, hosts := &http.Client{Transport: rt}, 0
		send := func(n int) {
			for range n {
				hosts++
				read(t, post(t, client, "https://h"+strconv.Itoa(hosts)+".example", `{}`)) //nolint:bodyclose // read does
			}
		}
		send(1100)
		assert.Equal(t, 1100, headrace.Made(rt), "their windows are not empty")
		time.Sleep(time.Minute)
		send(1000)
		assert.Less(t, headrace.Made(rt), 1100)
		for range 3 {
			runtime.GC() // of the guards that no route has any more
			time.Sleep(time.Minute)
			send(1100)
		}
		assert.Less(t, headrace.Forgotten(rt), 3300)
	})
}

// A guard that was forgotten while a route still had it is not created a second time.
func TestTheRoutesOfAHostKeepOneGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wide, err := guard.New(guard.Policy{Name: "wide"})
		require.NoError(t, err)
		rt := headrace.Transport(fine(), "", headrace.WithRegistry(emptyRegistry(t)), headrace.Within(wide), headrace.With(guard.Policy{Limits: perMinute(1)}))
		client := &http.Client{Transport: rt}
		send := func(host, model string) {
			read(t, post(t, client, "https://"+host+".example", `{"model":"`+model+`"}`)) //nolint:bodyclose // read does
		}
		for _, model := range []string{"a", "b", "c"} { // three routes, one guard
			send("shared", model)
			time.Sleep(time.Minute)
		}
		for i := range 1023 { // the last ones come when all routes have been forgotten
			send("h"+strconv.Itoa(i), "a")
		}
		send("shared", "a")
		time.Sleep(time.Minute)
		send("last", "a")
		assert.Less(t, headrace.Made(rt), 1024, "idle guards were forgotten")
		began := time.Now()
		send("shared", "a")
		send("shared", "b")
		assert.Equal(t, time.Minute, time.Since(began).Truncate(time.Second))
	})
}

// So are those with a breaker, unless it is open.
func TestGuardsWithABreakerAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := headrace.Transport(tripper(func(r *http.Request) (*http.Response, error) {
			if r.Host == "down.example" {
				return answer(http.StatusBadGateway, "", `{}`), nil
			}
			return answer(http.StatusOK, "", `{}`), nil
		}), "", headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{
			Limits: perMinute(1), Breaker: &breaker.Config{Failures: 1, Open: time.Hour}, Retry: &retry.Policy{MaxAttempts: 1},
		}))
		client := &http.Client{Transport: rt}
		read(t, post(t, client, "https://down.example", `{}`)) //nolint:bodyclose // read does
		for i := range 1100 {
			read(t, post(t, client, "https://h"+strconv.Itoa(i)+".example", `{}`)) //nolint:bodyclose // read does
		}
		time.Sleep(time.Minute)
		for i := range 1100 {
			read(t, post(t, client, "https://more"+strconv.Itoa(i)+".example", `{}`)) //nolint:bodyclose // read does
		}
		assert.Less(t, headrace.Made(rt), 2000)
		_, err := client.Post("https://down.example", "", http.NoBody) //nolint:bodyclose // there is none
		assert.ErrorAs(t, err, new(*breaker.OpenError))
	})
}

// A guard of WithinOf bounds the requests that it is returned for; what the
// provider rejects is learned by the guard of the service.
func TestWithinOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		users := map[string]*guard.Guard{}
		for _, name := range []string{"a", "b"} {
			g, err := guard.New(guard.Policy{Name: name, Limits: perMinute(1)})
			require.NoError(t, err)
			users[name] = g
		}
		reg, rejected := emptyRegistry(t), false
		rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
			if !rejected {
				rejected = true
				return answer(http.StatusTooManyRequests, "Retry-After: 1", `{}`), nil
			}
			return answer(http.StatusOK, "", `{}`), nil
		}), presets.OpenAITier1, headrace.WithRegistry(reg), headrace.WithinOf(func(r *http.Request) *guard.Guard {
			return users[r.Header.Get("X-User")]
		}))
		for user, want := range map[string]time.Duration{"": 0, "a": time.Minute, "b": time.Minute} {
			rejected = user != ""
			began := time.Now()
			for range 2 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://of.example/", http.NoBody)
				require.NoError(t, err)
				req.Header.Set("X-User", user)
				resp, err := rt.RoundTrip(req)
				require.NoError(t, err)
				read(t, resp)
			}
			if user != "" {
				assert.Equal(t, want, time.Since(began).Truncate(time.Second))
			}
		}
		assert.EqualValues(t, 1, reg.Get("openai/of.example/tier1").Stats().View.Hits)
	})
}

// The breaker of With stops requests, and its observer hears of it once.
func TestTheBreakerOfWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened int
		sent := 0
		rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
			sent++
			return answer(http.StatusBadGateway, "", `{}`), nil
		}), presets.OpenAITier1, headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{
			Retry: &retry.Policy{MaxAttempts: 1}, Breaker: &breaker.Config{Failures: 2},
			Observer: event.Func(func(e event.Event) {
				if e.Kind == event.BreakerOpened {
					opened++
				}
			}),
		}))
		for i := range 4 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://b.example/", http.NoBody)
			require.NoError(t, err)
			resp, err := rt.RoundTrip(req)
			if i < 2 {
				require.NoError(t, err)
				read(t, resp)
				continue
			}
			assert.ErrorAs(t, err, new(*breaker.OpenError))
		}
		assert.Equal(t, 2, sent)
		assert.Equal(t, 1, opened)
	})
}

// A content coding that would hide the usage is not asked for.
func TestCodingsThatHideTheUsage(t *testing.T) {
	for coding, want := range map[string]string{"br": "gzip", "gzip": "gzip", "zstd, gzip;q=0.5": "gzip", "identity": "identity", "": "gzip"} {
		asked := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Header.Get("Accept-Encoding")
			_, _ = io.WriteString(w, "{}")
		}))
		l, _ := limiter(t)
		base := &http.Transport{}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
		require.NoError(t, err)
		if coding != "" {
			req.Header.Set("Accept-Encoding", coding)
		}
		resp, err := under(base, presets.OpenAITier1, l).RoundTrip(req)
		require.NoError(t, err)
		read(t, resp)
		assert.Equal(t, want, asked)
		assert.Equal(t, coding, req.Header.Get("Accept-Encoding"), "the request is not changed")
		base.CloseIdleConnections()
		s.Close()
	}
}
