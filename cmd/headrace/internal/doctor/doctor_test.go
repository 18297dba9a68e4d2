package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

func examining() *examination {
	return &examination{Options: Options{Wait: 5 * time.Second, Keys: 20}, Report: &Report{Time: time.Now()}}
}

func (r *Report) codes() (all []Code) {
	for _, f := range r.Findings {
		all = append(all, f.Code)
	}
	return all
}

// troubled is a store in memory, with troubles.
type troubled struct {
	quota.MemoryStore

	delay   time.Duration
	damaged string // a key
	hangs   chan struct{}
}

func (s *troubled) Take(ctx context.Context, r quota.Request) (quota.Grant, error) {
	time.Sleep(s.delay)
	if s.hangs != nil {
		<-s.hangs
	}
	return s.MemoryStore.Take(ctx, r)
}

func (s *troubled) Look(ctx context.Context, key string) (quota.State, error) {
	if key == s.damaged {
		return quota.State{}, errors.New("a wrong checksum")
	}
	return s.MemoryStore.Look(ctx, key)
}

func (*troubled) Close() error { return nil }

var _ settings.Store = (*troubled)(nil)

// A store that ignores its context does not hold the doctor.
func TestAStoreThatHangsIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &troubled{MemoryStore: quota.NewMemoryStore(nil), hangs: make(chan struct{})}
		x := examining()
		ctx, cancel := x.within(t.Context())
		defer cancel()
		began := time.Now()
		err := x.latency(ctx, &Store{}, s)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.EqualError(t, err, "no answer within 5s")
		close(s.hangs)
	})
}

// What is not done within the bound is reported as that, also if its error is there at the same moment.
func TestAnErrorAfterTheBound(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, &slowError{time.Second})
	defer cancel()
	for range 10_000 {
		_, err := bounded(ctx, func(context.Context) (int, error) { return 0, errors.New("no answer within 15s") })
		require.EqualError(t, err, "no answer within 1s")
	}
}

func TestASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for delay, want := range map[time.Duration][]Code{100 * time.Millisecond: nil, 101 * time.Millisecond: {StoreSlow}} {
			x, at := examining(), &Store{}
			require.NoError(t, x.latency(t.Context(), at, &troubled{MemoryStore: quota.NewMemoryStore(nil), delay: delay}))
			assert.Equal(t, want, x.codes())
			assert.InDelta(t, milliseconds(delay), at.Median, 0)
		}
	})
}

func TestADamagedKeyIsReportedBesideTheOthers(t *testing.T) {
	s := &troubled{MemoryStore: quota.NewMemoryStore(nil), damaged: "bad"}
	for _, key := range []string{"bad", "good"} {
		_, err := s.Take(t.Context(), quota.Request{Demands: []quota.Demand{{Key: key, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(9, time.Hour)}}}}})
		require.NoError(t, err)
	}
	x, at := examining(), &Store{}
	x.keys(t.Context(), at, s, nil)
	assert.Equal(t, []Code{KeyDamaged}, x.codes())
	require.Len(t, at.Keys, 1)
	assert.Equal(t, "good", at.Keys[0].Name)
	assert.Equal(t, 2, at.Found)
}

// unnamed is a store that lists what it can read, and then says that there is more.
type unnamed struct{ *troubled }

func (u unnamed) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key, err := range u.troubled.Keys(ctx, prefix) {
			if !yield(key, err) {
				return
			}
		}
		yield("", &fault.FieldError{Owner: "redisstore", Field: "a key", Problem: "DEL x removes it"})
	}
}

func TestADamagedKeyWithoutANameIsReported(t *testing.T) {
	s := unnamed{&troubled{MemoryStore: quota.NewMemoryStore(nil)}}
	_, err := s.Take(t.Context(), quota.Request{Demands: []quota.Demand{{Key: "good", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(9, time.Hour)}}}}})
	require.NoError(t, err)
	x, at := examining(), &Store{}
	x.keys(t.Context(), at, s, nil)
	assert.Equal(t, []Code{KeyDamaged}, x.codes())
	assert.Contains(t, x.Findings[0].Problem, "DEL x removes it")
	assert.Len(t, at.Keys, 1)
}

// endless has keys without end.
type endless struct{ *troubled }

func (endless) Keys(ctx context.Context, _ string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for ctx.Err() == nil && yield("key", nil) {
		}
	}
}

func TestKeysAreBounded(t *testing.T) {
	x, at := examining(), &Store{}
	x.keys(t.Context(), at, endless{&troubled{MemoryStore: quota.NewMemoryStore(nil)}}, nil)
	assert.True(t, at.Partial)
	assert.Equal(t, mostScanned, at.Found)
	assert.Len(t, at.Keys, 20)
}

func TestPresetsOlderThanAYear(t *testing.T) {
	x := examining()
	row := presets.Profile{ID: "acme/free", AsOf: x.Time.AddDate(-1, 0, -2)}
	x.stale(&row, "guards.acme")
	row.AsOf = x.Time.AddDate(0, -11, 0)
	x.stale(&row, "guards.acme")
	assert.Equal(t, []Code{PresetStale}, x.codes())
}

func TestWhatRedisSaysOfItself(t *testing.T) {
	for text, want := range map[string][]Code{
		"redis_version:7.0.15\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n": nil,
		"role:master\r\nmaxmemory:5\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n":                         {StoreEvicts},
		"role:master\r\nmaxmemory:5\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\n":                          {StoreVolatile},
		"# Replication\r\nrole:slave\r\naof_enabled:1\r\n":                                                        {StoreReplica},
	} {
		x := examining()
		x.info(&Store{}, infoOf(text))
		assert.Equal(t, want, x.codes(), text)
	}
}

func TestTheClockOfAStore(t *testing.T) {
	for _, c := range []struct {
		offset, took time.Duration
		want         []Code
	}{
		{time.Second, 0, nil},
		{1001 * time.Millisecond, 0, []Code{ClockOffset}},
		{-1001 * time.Millisecond, 0, []Code{ClockOffset}},
		{1400 * time.Millisecond, time.Second, nil}, // the half of that time may be the offset
	} {
		x, s := examining(), &Store{}
		x.clock(s, c.offset, c.took)
		assert.Equal(t, c.want, x.codes())
		assert.InDelta(t, c.offset.Seconds(), s.Clock, 0)
	}
}

// A password is in no text, however it is written in the address.
func TestPasswordsAreTakenOut(t *testing.T) {
	x := examining()
	x.secret("redis://u:p%40ss%2Fword@h/0")
	x.add(Problem, StoreUnreachable, "at", "p@ss/word", "wrong: p@ss/word, p%%40ss%%2Fword")
	x.finish()
	assert.Equal(t, []string{"xxxxx", "wrong: xxxxx, xxxxx"}, []string{x.Findings[0].Remedy, x.Findings[0].Problem})
}

// Neither users nor passwords of a group's replicas are in the report.
func TestUsersOfReplicasAreTakenOut(t *testing.T) {
	for _, address := range []string{"https://aUser:aPass@h", "https://aUser@h", "https://bUser:bPass@h,https://aUser:aPass@h"} {
		x := examining()
		x.group(t.Context(), "group:"+address)
		x.finish()
		assert.NotRegexp(t, "[ab](User|Pass)", fmt.Sprint(x.Findings, *x.Groups[0]), address)
	}
}

// A password that is a part of other words does not spoil them, which would also say what it is.
func TestShortPasswordsDoNotSpoilTheReport(t *testing.T) {
	for password, want := range map[string]string{
		"WRONG": "WRONGPASS for xxxxx, xxxxx!",
		"PASS":  "WRONGPASS for WRONG, WRONG!",
		"W":     "WRONGPASS for WRONG, WRONG!",
		"!":     "WRONGPASS for WRONG, WRONGxxxxx",
	} {
		x := examining()
		x.secret("redis://u:" + password + "@h/0")
		assert.Equal(t, want, x.clean("WRONGPASS for WRONG, WRONG!"), password)
	}
}

// What is not headrace serve is not called healthy.
func TestWhatIsNoService(t *testing.T) {
	for answer, want := range map[string]string{
		`{}`:               "is not headrace serve",
		`{"status": "up"}`: "is not headrace serve",
		`{"status": ""}`:   "is not headrace serve",
		`[]`:               "is not headrace serve",
		"401":              "requires a password or a token",
		`{"status": "healthy", "address": "evil"}`: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if answer == "401" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = io.WriteString(w, answer)
		}))
		x := examining()
		x.Options.Service = server.URL
		x.asksService(t.Context())
		server.Close()
		assert.Equal(t, server.URL, x.Report.Service.Address)
		if want == "" {
			assert.Empty(t, x.Findings)
			assert.Equal(t, "healthy", x.Report.Service.Status)
			continue
		}
		assert.Equal(t, []Code{ServiceDown}, x.codes(), answer)
		assert.Contains(t, x.Findings[0].Problem, want, answer)
		assert.Equal(t, Unreachable, x.Report.Service.Status)
	}
}
