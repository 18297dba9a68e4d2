package journaltest

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/journal"
)

// retainer opens the journal of s, if that is one.
func retainer(t *testing.T, s *subject) (journal.Journal, journal.Retainer) {
	t.Helper()
	j := s.open()
	r, ok := j.(journal.Retainer)
	if !ok {
		t.Skip("it is no journal.Retainer")
	}
	return j, r
}

// listed returns the runs that r has.
func (s *subject) listed(r journal.Retainer) (runs []journal.Run) {
	s.Helper()
	for run, err := range r.Runs(s.Context()) {
		if err != nil {
			s.Fatal(err)
		}
		run.Opened, run.Changed = run.Opened.UTC(), run.Changed.UTC()
		runs = append(runs, run)
	}
	return runs
}

func (s *subject) openAt(j journal.Journal, p journal.Part, at time.Time) {
	s.Helper()
	if _, err := j.Open(s.Context(), p, owner, "v1", at); err != nil {
		s.Fatal(err)
	}
}

func runs(t *testing.T, s *subject) {
	t.Helper()
	j, r := retainer(t, s)
	want := journal.Run{Name: part.Run}
	check := func(what string) {
		t.Helper()
		if got := s.listed(r); !slices.Equal(got, []journal.Run{want}) {
			t.Errorf("%s: got  %+v\nwant %+v", what, got, want)
		}
	}
	at := func(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }

	s.openAt(j, part, at(0))
	s.openAt(j, journal.Part{Run: part.Run, Node: "other"}, at(-2))
	want.Opened, want.Changed = at(-2), at(0)
	check("opened")
	s.openAt(j, part, at(3))
	want.Changed = at(3)
	check("opened again")
	s.openAt(j, part, at(1))
	check("opened by an earlier clock")
	if _, err := j.Open(s.Context(), part, owner, "v2", at(9)); err == nil {
		t.Error("another version opens")
	}
	check("opened in vain")

	for _, content := range []string{"a", "b", "c", "d"} {
		s.begin(j, key(content), false) // at the epoch
	}
	want.Pending = 4
	check("begun")
	long, short := done("a", "twelve bytes"), failed("b", "why")
	long.Ended, short.Ended = at(4), at(5)
	s.finish(j, "", long, short, done("c", ""))
	want.Pending, want.Done, want.Failed, want.Bytes, want.Changed = 1, 2, 1, 12, at(5)
	check("finished")
	s.finish(j, "", done("a", "what is done stays done"))
	check("finished twice")
	s.begin(j, short.Key, true)
	again := done("b", "three")
	again.Ended = at(6)
	s.finish(j, "mark", again)
	want.Done, want.Failed, want.Bytes, want.Changed = 3, 0, 17, at(6)
	check("done at the second attempt")
	if want.Total() != 4 {
		t.Errorf("a total of %d", want.Total())
	}
}

func forgetting(t *testing.T, s *subject) {
	t.Helper()
	j, r := retainer(t, s)
	for i, run := range []string{"b", "a", "c"} {
		at := epoch.Add(time.Duration(i) * time.Hour)
		for _, node := range []string{"1", "2"} {
			p := journal.Part{Run: run, Node: node}
			s.openAt(j, p, at)
			if _, err := j.Begin(s.Context(), journal.Key{Part: p, Content: "x"}, at.Add(time.Minute), false); err != nil {
				t.Fatal(err)
			}
			s.release(j, p, owner)
		}
	}
	list := func() (names []string) {
		for _, run := range s.listed(r) {
			names = append(names, run.Name+" "+run.Changed.Format("15:04"))
		}
		return names
	}
	if got := list(); !slices.Equal(got, []string{"a 13:01", "b 12:01", "c 14:01"}) {
		t.Errorf("runs %q", got)
	}
	if err := r.Forget(s.Context(), "none"); err != nil {
		t.Error(err)
	}
	if gone, err := r.ForgetUnchanged(s.Context(), "none", epoch.Add(24*time.Hour)); gone || err != nil {
		t.Errorf("an unknown run: %v, %v", gone, err)
	}
	gone, err := journal.ForgetBefore(s.Context(), r, epoch.Add(2*time.Hour+time.Minute))
	if err != nil || !slices.Equal(gone, []string{"a", "b"}) {
		t.Errorf("forgot %q, %v", gone, err)
	}
	if got := list(); !slices.Equal(got, []string{"c 14:01"}) {
		t.Errorf("runs %q", got)
	}
	p := journal.Part{Run: "b", Node: "1"}
	if got, err := j.Open(s.Context(), p, owner, "another version", epoch); err != nil || got.Pending+got.Done+got.Failed != 0 || got.Mark != "" || got.Behind != 0 {
		t.Errorf("a forgotten part: %+v, %v", got, err)
	}
	if r := s.begin(j, journal.Key{Part: p, Content: "x"}, false); r.State != journal.Unknown {
		t.Errorf("a forgotten record: %+v", r)
	}
}

// resuming is a Retainer of which a run is resumed, and ends, after it was listed.
type resuming struct {
	journal.Retainer

	resume func()
}

// Runs lists the runs of before.
func (r resuming) Runs(ctx context.Context) iter.Seq2[journal.Run, error] {
	return func(yield func(journal.Run, error) bool) {
		listed := maps.Collect(r.Retainer.Runs(ctx))
		r.resume()
		for run, err := range listed {
			if !yield(run, err) {
				return
			}
		}
	}
}

func forgettingARunThatIsResumed(t *testing.T, s *subject) {
	t.Helper()
	j, r := retainer(t, s)
	resumed, other := journal.Part{Run: "resumed", Node: "2"}, journal.Part{Run: "resumed", Node: "1"}
	for _, p := range []journal.Part{resumed, other, {Run: "old", Node: "n"}} {
		s.openAt(j, p, epoch)
		s.release(j, p, owner)
	}
	resume := func() {
		s.openAt(j, resumed, epoch.Add(time.Hour))
		s.release(j, resumed, owner)
	}
	gone, err := journal.ForgetBefore(s.Context(), resuming{r, resume}, epoch.Add(time.Minute))
	if err != nil || !slices.Equal(gone, []string{"old"}) {
		t.Errorf("forgot %q, %v", gone, err)
	}
	if left := s.listed(r); len(left) != 1 || left[0].Name != "resumed" {
		t.Errorf("the runs that are left: %+v", left)
	}
}

// forgettingARunAtWork is about the claims of now: Forget has no other time.
func forgettingARunAtWork(t *testing.T, s *subject) {
	t.Helper()
	j, r := retainer(t, s)
	long := time.Now().Add(-time.Hour)
	s.openAt(j, journal.Part{Run: "old", Node: "n"}, long)
	s.release(j, journal.Part{Run: "old", Node: "n"}, owner)
	s.openAt(j, part, time.Now())
	s.openAt(j, journal.Part{Run: part.Run, Node: "other"}, long)
	s.release(j, journal.Part{Run: part.Run, Node: "other"}, owner)
	s.begin(j, key("x"), false)
	var held *journal.HeldError
	if err := r.Forget(s.Context(), part.Run); !errors.As(err, &held) || held.Lease.Owner != owner || held.Part != part {
		t.Errorf("a run that is at work: %v", err)
	}
	held = nil
	if gone, err := r.ForgetUnchanged(s.Context(), part.Run, time.Now().Add(time.Hour)); gone || !errors.As(err, &held) || held.Part != part {
		t.Errorf("a run that is at work, and has not changed: %v, %v", gone, err)
	}
	if gone, err := journal.ForgetBefore(s.Context(), r, time.Now().Add(time.Hour)); err != nil || !slices.Equal(gone, []string{"old"}) {
		t.Errorf("forgot %q, %v", gone, err)
	}
	if r := s.look(j, key("x")); r.State != journal.Pending {
		t.Errorf("its record is %+v", r)
	}
	s.release(j, part, owner)
	if err := r.Forget(s.Context(), part.Run); err != nil {
		t.Error(err)
	}
}
