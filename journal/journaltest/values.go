package journaltest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/journal"
)

// longestName is how long the texts of a Key may be, in bytes.
const longestName = 1 << 10

func values(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part)
	for i, r := range []journal.Record{
		{State: journal.Done},
		{State: journal.Done, Value: []byte{}},
		{State: journal.Done, Value: []byte{0, 255, '\'', '\n'}},
		{State: journal.Done, Value: bytes.Repeat([]byte("0123456789abcdef"), 1<<16), Attempts: 1 << 40},
		{State: journal.Failed, Err: "not UTF-8: \xff, NUL: \x00, and é"},
		{State: journal.Failed, Err: "with a value", Value: []byte("partial")},
		{State: journal.Failed, Err: ""},
	} {
		r.Key = key(strings.Repeat("k", longestName-i))
		r.Ended = time.Date(1970, 1, 1, 0, 0, i, 1_999, time.UTC)
		s.begin(j, r.Key, false)
		s.finish(j, "", r)
		r = begun(r)
		r.Ended = r.Ended.Truncate(time.Microsecond)
		s.wantSame(s.begin(j, r.Key, false), r)
	}
	mine := done("mine", "value")
	s.begin(j, mine.Key, false)
	s.finish(j, "", mine)
	mine.Value[0] = 'X' // the caller's again
	s.begin(j, mine.Key, false).Value[1] = 'X'
	s.wantSame(s.look(j, mine.Key), begun(done("mine", "value")))
}

func badInput(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part)
	s.begin(j, key("x"), false)
	long := strings.Repeat("x", longestName+1)
	for _, p := range []journal.Part{{}, {Run: "r"}, {Node: "n"}, {Run: long, Node: "n"}, {Run: "r", Node: "a\x00"}, {Run: "\xff", Node: "n"}} {
		_, err := j.Open(s.Context(), p, owner, "v1", epoch)
		s.wantFieldError(err, p)
		_, err = j.Finish(s.Context(), p, owner, "m")
		s.wantFieldError(err, p)
	}
	for _, o := range []journal.Owner{{}, {Host: "h", PID: 1}, {ID: long}, {ID: "\x00"}} {
		_, err := j.Open(s.Context(), journal.Part{Run: "r", Node: "n"}, o, "v1", epoch)
		s.wantFieldError(err, o)
	}
	for _, k := range []journal.Key{
		{Content: "x"}, key(""), key(long), key("\x00"), key("\xff"), {Part: part, Content: "x", Occurrence: -1},
	} {
		_, err := j.Begin(s.Context(), k, epoch, false)
		s.wantFieldError(err, k)
	}
	for _, r := range []journal.Record{
		{Key: key("x")},
		{Key: key("x"), State: journal.Pending},
		{Key: key("x"), State: journal.Failed + 1},
		{Key: key("x"), State: journal.Done, Attempts: -1},
		{Key: key(""), State: journal.Done},
		{Key: journal.Key{Part: journal.Part{Run: "run", Node: "other"}, Content: "x"}, State: journal.Done},
	} {
		_, err := j.Finish(s.Context(), part, owner, "m", r)
		s.wantFieldError(err, r)
	}
	if got := s.progress(j, part); got != (journal.Progress{Pending: 1}) {
		t.Errorf("progress %+v", got)
	}
}

func (s *subject) wantFieldError(err error, of any) {
	s.Helper()
	if !errors.As(err, new(*fault.FieldError)) {
		s.Errorf("%+v: got %v; want a *fault.FieldError", of, err)
	}
}

func laws(t *testing.T, s *subject) {
	t.Helper()
	j := s.open()
	k, ok := j.(journal.LawKeeper)
	if !ok {
		t.Skip("it is no journal.LawKeeper")
	}
	load := func(name string) journal.Law {
		l, err := k.LoadLaw(s.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, one := range []struct{ name, state string }{{"a", "1"}, {"b", "2"}, {"", "3"}, {"a", "\x004\xff"}} {
		if err := k.SaveLaw(s.Context(), one.name, journal.Law{State: []byte(one.state), At: epoch.Add(1999)}); err != nil {
			t.Fatal(err)
		}
		if l := load(one.name); string(l.State) != one.state || !l.At.Equal(epoch.Add(1000)) {
			t.Errorf("%q: got %+v", one.name, l)
		}
	}
	if l := load("b"); string(l.State) != "2" {
		t.Errorf("b: got %+v", l)
	}
	if l := load("never saved"); l.State != nil || !l.At.IsZero() {
		t.Errorf("got %+v for a name that was never saved", l)
	}
}

func contextsAndClosing(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part)
	s.begin(j, key("x"), false)
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(s.Context())
	cancel(why)
	for name, err := range attempts(ctx, j) {
		if !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s under an ended context: %v", name, err)
		}
	}
	if got := s.progress(j, part); got != (journal.Progress{Pending: 1}) {
		t.Errorf("progress %+v", got)
	}
	for range 2 {
		if err := j.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for name, err := range attempts(s.Context(), j) {
		if !errors.Is(err, journal.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}

// attempts is what each method says.
func attempts(ctx context.Context, j journal.Journal) map[string]error {
	said := map[string]error{}
	_, said["Open"] = j.Open(ctx, part, owner, "v1", epoch)
	said["Renew"] = j.Renew(ctx, part, owner, epoch)
	said["Release"] = j.Release(ctx, part, owner)
	_, said["Begin"] = j.Begin(ctx, key("y"), epoch, false)
	_, said["Finish"] = j.Finish(ctx, part, owner, "m", done("x", "1"))
	for _, err := range j.All(ctx, part) {
		said["All"] = err
		break
	}
	if k, ok := j.(journal.LawKeeper); ok {
		said["SaveLaw"] = k.SaveLaw(ctx, "l", journal.Law{At: epoch})
		_, said["LoadLaw"] = k.LoadLaw(ctx, "l")
	}
	if r, ok := j.(journal.Retainer); ok {
		said["Forget"] = r.Forget(ctx, "run")
		_, said["ForgetUnchanged"] = r.ForgetUnchanged(ctx, "run", epoch)
		for _, err := range r.Runs(ctx) {
			said["Runs"] = err
			break
		}
	}
	return said
}
