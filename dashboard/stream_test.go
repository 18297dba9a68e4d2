package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/registry"
	"github.com/headrace/headrace/throttle"
)

// sink is a response that is read in virtual time.
type sink struct {
	io.Writer

	header http.Header
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}
func (s *sink) Flush()              {}

// message is a server-sent event, and when it came.
type message struct {
	after      time.Duration
	kind, data string
}

// followed opens a stream, and returns what comes.
func followed(ctx context.Context, d *Dashboard, wg *sync.WaitGroup) <-chan message {
	out := make(chan message, 10_000)
	r, w := io.Pipe()
	began := time.Now()
	wg.Go(func() {
		defer func() { _ = w.Close() }()
		d.events(&sink{w, http.Header{}}, httptest.NewRequest(http.MethodGet, "/api/events", nil).WithContext(ctx))
	})
	wg.Go(func() {
		defer close(out)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		var m message
		for lines.Scan() {
			switch kind, data, _ := strings.Cut(lines.Text(), ": "); kind {
			case "event":
				m.kind = data
			case "data":
				m.data = data
			case "":
				if data != "" {
					m.kind = data
				} else {
					m.after = time.Since(began)
					out <- m
					m = message{}
				}
			}
		}
	})
	return out
}

func inBubble(t *testing.T, c Config) (*Dashboard, *guard.Guard) {
	t.Helper()
	var err error
	c.Registry, err = registry.New(registry.Config{})
	require.NoError(t, err)
	g, err := c.Registry.Register("api", guard.Policy{Limits: throttle.Limits{Concurrency: 5}})
	require.NoError(t, err)
	d, err := New(c)
	require.NoError(t, err)
	synctest.Wait() // it has looked
	return d, g
}

func call(t *testing.T, g *guard.Guard) {
	t.Helper()
	require.NoError(t, g.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil }))
}

func TestAStreamIsASnapshotAndFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := int64(0)
		d, g := inBubble(t, Config{Clients: func() []Client { n += 5; return []Client{{Name: "chat", Admitted: n}} }})
		call(t, g)
		time.Sleep(soon)
		ctx, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		in := followed(ctx, d, &wg)
		first := <-in
		assert.Equal(t, "snapshot", first.kind)
		var status Status
		require.NoError(t, json.Unmarshal([]byte(first.data), &status))
		assert.Equal(t, int64(1), status.Limiters[0].Admitted)

		for range 3 {
			time.Sleep(30 * time.Millisecond)
			call(t, g)
		}
		d.Observe(event.Event{Kind: event.LimiterChanged, Source: "api", Reason: "it changed", Time: time.Now()})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		end()
		wg.Wait()
		var frames, samples, alive int
		var limiters []Limiter
		var events []Line
		last := time.Duration(-1)
		for m := range in {
			if m.kind == "alive" {
				alive++
				continue
			}
			frames++
			assert.Equal(t, "frame", m.kind)
			if last >= 0 {
				assert.GreaterOrEqual(t, m.after-last, tick, "at most four a second")
			}
			last = m.after
			var f struct {
				frame

				Limiters []Limiter `json:"limiters"`
			}
			require.NoError(t, json.Unmarshal([]byte(m.data), &f))
			limiters, events = append(limiters, f.Limiters...), append(events, f.Events...)
			samples += len(f.Samples)
			if len(f.Samples) > 0 {
				assert.Equal(t, "chat", f.Clients[0].Name)
			}
		}
		assert.Equal(t, 40, frames)
		assert.Equal(t, 10, samples, "one each second")
		require.NotEmpty(t, limiters)
		assert.Equal(t, int64(4), limiters[0].Admitted, "the change is there in the first frame after it")
		assert.LessOrEqual(t, len(limiters), 13, "what does not change is not sent: the rest is the mean over 10 s")
		assert.Equal(t, []string{"changed: it changed"}, []string{events[0].Text})
		assert.Len(t, events, 1)
		d.Close()
	})
}

func TestAStreamShowsThatItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Dashboard{started: time.Now(), board: *emptyBoard(), readers: map[*reader]struct{}{}}
		d.ctx, d.stop = context.WithCancel(t.Context()) // nothing looks
		var wg sync.WaitGroup
		in := followed(t.Context(), d, &wg)
		assert.Equal(t, "snapshot", (<-in).kind)
		m := <-in
		assert.Equal(t, message{after: heartbeat, kind: "alive"}, m)
		d.Close()
		wg.Wait()
		assert.Empty(t, d.readers)
	})
}

// What a new reader begins with is not what earlier readers were sent last, so that the next frame may have to take it back.
func TestAReaderLearnsThatAPauseEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, g := inBubble(t, Config{})
		call(t, g)
		ctx, end := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		states := func(in <-chan message) (all []string) {
			for len(in) > 0 {
				var f struct {
					Limiters []Limiter `json:"limiters"`
				}
				if m := <-in; m.kind != "alive" {
					require.NoError(t, json.Unmarshal([]byte(m.data), &f))
				}
				for _, l := range f.Limiters {
					all = append(all, l.State)
				}
			}
			return all
		}
		early := followed(ctx, d, &wg)
		time.Sleep(20 * time.Second) // until the mean rate no longer changes
		synctest.Wait()
		assert.Contains(t, states(early), Open)
		end()
		wg.Wait()

		g.Pause(time.Now().Add(time.Hour))
		time.Sleep(soon)
		late := followed(t.Context(), d, &wg)
		synctest.Wait()
		assert.Equal(t, []string{Paused}, states(late))
		g.Resume()
		time.Sleep(time.Second)
		synctest.Wait()
		all := states(late)
		require.NotEmpty(t, all)
		assert.Equal(t, Open, all[len(all)-1])
		d.Close()
		wg.Wait()
	})
}

// A page keeps what it was sent last, which has to be the end and not what was a moment before.
func TestTheLastMessageIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, g := inBubble(t, Config{})
		call(t, g)
		var wg sync.WaitGroup
		in := followed(t.Context(), d, &wg)
		time.Sleep(10*time.Second + soon/2) // so that guards were looked at a moment ago
		call(t, g)
		d.Close()
		wg.Wait()
		var last message
		for m := range in {
			last = m
		}
		assert.Equal(t, "snapshot", last.kind)
		var status Status
		require.NoError(t, json.Unmarshal([]byte(last.data), &status))
		require.Len(t, status.Limiters, 1)
		assert.Equal(t, int64(2), status.Limiters[0].Admitted)
	})
}

// A reader that does not read keeps nothing waiting. When it reads again it gets a snapshot.
func TestASlowReaderMissesFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, g := inBubble(t, Config{})
		call(t, g)
		time.Sleep(soon)
		r, w := io.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = w.Close() }()
			d.events(&sink{w, http.Header{}}, httptest.NewRequest(http.MethodGet, "/api/events", nil))
		})
		time.Sleep(time.Hour) // the snapshot is not read
		call(t, g)
		time.Sleep(time.Second)
		d.mu.Lock()
		for one := range d.readers {
			assert.Len(t, one.frames, mostFrames)
			assert.True(t, one.behind)
		}
		d.mu.Unlock()
		lines := bufio.NewReader(r)
		read := func() (kind string, admitted int64) {
			for kind = ": alive\n"; strings.HasPrefix(kind, ":"); {
				var err error
				kind, err = lines.ReadString('\n')
				require.NoError(t, err)
				if kind == ": alive\n" {
					_, err = lines.ReadString('\n')
					require.NoError(t, err)
				}
			}
			data, err := lines.ReadString('\n')
			require.NoError(t, err)
			_, err = lines.ReadString('\n')
			require.NoError(t, err)
			var s Status
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &s))
			if len(s.Limiters) > 0 {
				admitted = s.Limiters[0].Admitted
			}
			return strings.TrimSpace(strings.TrimPrefix(kind, "event: ")), admitted
		}
		kind, n := read()
		assert.Equal(t, []any{"snapshot", int64(1)}, []any{kind, n}, "the one of an hour ago")
		kind, n = read()
		assert.Equal(t, []any{"snapshot", int64(2)}, []any{kind, n})
		kind, _ = read()
		assert.Equal(t, "frame", kind)
		wg.Go(d.Close)
		_, _ = io.Copy(io.Discard, lines)
		wg.Wait()
	})
}

func TestReadersAreBounded(t *testing.T) {
	s := serve(t, Config{})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	for range mostReaders {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/events", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		assert.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	}
	resp, text := s.ask(http.MethodGet, "/api/events", "")
	refused(t, resp, text, http.StatusServiceUnavailable, "too_many_readers", "32 pages are open: close one")
}

// Without a page that is open guards are looked at once a second.
func TestLooksAreFewWithoutAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		d, g := inBubble(t, Config{Clients: func() []Client { looks++; return nil }})
		call(t, g)
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 11, looks)
		d.mu.Lock()
		assert.Len(t, d.board.limiters["api"].series.fine.all, 11)
		d.mu.Unlock()
		d.Close()
	})
}

// However often the status is asked for, guards are looked at 20 times a second.
func TestRequestsCauseFewLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		d, g := inBubble(t, Config{Queues: func() []Queue { looks.Add(1); return nil }})
		call(t, g)
		before := looks.Load()
		for range 1000 {
			time.Sleep(time.Millisecond)
			d.status(httptest.NewRecorder(), nil)
		}
		assert.LessOrEqual(t, looks.Load()-before, int64(time.Second/soon)+1)
		d.Close()
	})
}

// deadlines is a connection that records its deadlines.
type deadlines struct {
	*httptest.ResponseRecorder

	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = append(d.read, t); return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = append(d.write, t); return nil }

// A server's own deadlines would end a stream, and without one a reader that takes nothing would hold it for ever.
func TestAStreamHasItsOwnDeadlines(t *testing.T) {
	d, err := New(Config{Registry: emptyRegistry(t)})
	require.NoError(t, err)
	defer d.Close()
	ctx, end := context.WithCancel(t.Context())
	end()
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.events(w, httptest.NewRequest(http.MethodGet, "/api/events", nil).WithContext(ctx))
	assert.Contains(t, w.Body.String(), "event: snapshot")
	assert.Equal(t, []time.Time{{}}, w.read, "none to read")
	require.NotEmpty(t, w.write)
	assert.WithinRange(t, w.write[0], time.Now(), time.Now().Add(patience))
}
