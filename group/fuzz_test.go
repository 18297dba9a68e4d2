package group

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/internal/hook"
	"github.com/headrace/headrace/throttle"
)

// streams are what one side may send after its hello.
func streams() (all [][]byte) {
	write := func(frames ...frame) {
		var b []byte
		for _, f := range frames {
			b = f.append(b)
		}
		all = append(all, b)
	}
	o, _ := json.Marshal(opening{Name: "k", Members: 3, Others: 2, Observes: true, Saved: json.RawMessage(`{"law":"measured","version":1,"calls":10}`)})
	open := frame{kind: kindOpen, data: o}
	for _, s := range samples() {
		s.key = 0
		write(s)
		write(open, frame{kind: kindAsk, id: s.id}, s)
	}
	write(open, frame{kind: kindAsk, id: 1}, frame{kind: kindEnd, id: 1, feedback: adaptive.Feedback{Verdict: adaptive.Hit, RetryAfter: time.Hour}}, frame{kind: kindAsk, id: 2})
	write(frame{kind: kindClosed, id: 1, data: []byte(`{"for":1000000000,"hit":{"kind":1,"retry_after":5},"text":"no"}`)}, frame{kind: kindGrant, id: 1})
	write(frame{kind: kindClosed, id: 1, data: []byte(`{"for":1000000000,"large":{"amount":5,"max":1,"window":"1/s"},"text":"no"}`)})
	write(frame{kind: kindState, data: []byte(`{"members":4,"pace":[1,2],"hold":{"gate":1000},"saved":{}}`)}, frame{kind: kindEvent, data: []byte(`{"kind":3,"err":"x"}`)})
	return all
}

// Whatever a member on another host sends, the leader ends its connection at the worst, and serves the others.
func FuzzMember(f *testing.F) {
	for _, s := range streams() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		synctest.Test(t, func(t *testing.T) {
			l := newServiceLeader(nil)
			defer l.close()
			time.Sleep(time.Second)
			conn, other := net.Pipe()
			l.wg.Go(func() { _ = l.serve(other) })
			stranger := newLink(conn)
			_, err := stranger.greet(hello{Version: version}, true)
			require.NoError(t, err)
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, _ = conn.Write(b)
			time.Sleep(time.Second)
			_ = conn.Close()
			synctest.Wait()
			require.Empty(t, l.sessions)

			own := memberOf(t, l, opening{})
			own.sendJSON(frame{kind: kindOpen, key: 1}, opening{Name: "own"})
			own.send(&frame{kind: kindAsk, key: 1, id: 1})
			synctest.Wait()
			require.NoError(t, own.reason())
			require.Len(t, own.all(kindGrant), 1)
			require.LessOrEqual(t, len(l.keep(time.Now())), mostKept+1024)
			own.fail(net.ErrClosed)
		})
	})
}

// Whatever a service sends, a member ends the connection at the worst, and goes on with the next one.
func FuzzLeader(f *testing.F) {
	for _, s := range streams() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		synctest.Test(t, func(t *testing.T) {
			g := &Group{}
			g.standing.Store(&Stats{})
			s := &seat{group: g, policy: guard.Policy{Name: "k"}, trials: map[int64]trial{}, calls: map[int64]sending{}}
			made, err := guard.New(guard.Policy{Name: "k", Law: s})
			require.NoError(t, err)
			s.inside = hook.Open[interior](made)
			g.seats = append(g.seats, s)
			a, b2 := net.Pipe()
			bad := newLink(a)
			s.attach(bad, 0)
			go func() { _, _ = io.Copy(io.Discard, b2) }()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = bad.run(leaderSilence, func(f *frame) error { return g.handle(bad, f) })
			}()
			_, _ = b2.Write(b)
			_ = b2.Close()
			<-done
			s.detach()

			l := newServiceLeader(nil)
			defer l.close()
			c, d := net.Pipe()
			l.wg.Go(func() { _ = l.serve(d) })
			good := newLink(c)
			_, err = good.greet(hello{Version: version}, true)
			require.NoError(t, err)
			s.attach(good, 0)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = good.run(leaderSilence, func(f *frame) error { return g.handle(good, f) })
			}()
			time.Sleep(time.Second)
			require.NoError(t, made.Reset()) // the other leader may have closed it for an hour
			require.NoError(t, made.Do(t.Context(), throttle.Cost{}, noCall))
			good.fail(net.ErrClosed)
			<-ended
		})
	})
}

// Whatever an address is, it is a service or an error that does not repeat a password.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"https://host:8790", "https://a,https://b?ca=x&token-file=y", "http://127.0.0.1:1/p", "https://u:hunter2@h", "https://h,https://u:hunter2@h?x=hunter2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if strings.ContainsAny(address, "?") {
			return // files of this machine
		}
		s, err := parseService("https:" + address)
		if err == nil {
			require.NotEmpty(t, s.replicas)
			for _, u := range s.replicas {
				require.Nil(t, u.User)
				require.NotEmpty(t, u.Hostname())
			}
			return
		}
		if at := strings.LastIndex(address, "@"); at > 0 && strings.Contains(address[:at], ":hunter2") {
			require.NotContains(t, err.Error(), "hunter2")
		}
	})
}

// Whatever is asked of the handler, it has an answer.
func FuzzRequest(f *testing.F) {
	f.Add("GET", protocol, "Upgrade")
	f.Add("POST", "websocket", "keep-alive")
	f.Fuzz(func(t *testing.T, method, upgrade, connection string) {
		h, err := NewHandler(HandlerConfig{})
		require.NoError(t, err)
		defer h.Close()
		w := httptest.NewRecorder()
		r := &http.Request{Method: method, ProtoMajor: 1, Header: http.Header{"Upgrade": {upgrade}, "Connection": {connection}}}
		h.ServeHTTP(w, r)
		require.GreaterOrEqual(t, w.Code, 400)
		var a answer
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
		require.NotEmpty(t, a.Error.Code)
	})
}
