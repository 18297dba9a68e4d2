package journaltest

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/process"
	"github.com/headrace/headrace/journal"
)

// rival is an owner besides the one of the other tests.
var rival = journal.Owner{ID: "rival", Host: "there", PID: 7, Process: "some process"} //nolint:gochecknoglobals // a constant but for its type

// another returns another journal on the same storage, or j itself if there can be none.
func (s *subject) another(j journal.Journal) journal.Journal {
	s.Helper()
	if !s.storage.Lasting {
		return j
	}
	return s.open()
}

func (s *subject) release(j journal.Journal, p journal.Part, o journal.Owner) {
	s.Helper()
	if err := j.Release(s.Context(), p, o); err != nil {
		s.Fatal(err)
	}
}

// wantHeld asserts that err is of a part that o has, or, if o is nil, that no owner has.
func (s *subject) wantHeld(what string, err error, o *journal.Owner, since time.Time, lost bool) *journal.HeldError {
	s.Helper()
	var held *journal.HeldError
	if !errors.As(err, &held) {
		s.Fatalf("%s: got %v; want a *journal.HeldError", what, err)
	}
	if held.Part != part || held.Lost != lost {
		s.Errorf("%s: got %+v", what, held)
	}
	switch {
	case o == nil && held.Lease.Owner != (journal.Owner{}):
		s.Errorf("%s: got the owner %+v; want none", what, held.Lease.Owner)
	case o != nil && (held.Lease.Owner != *o || !held.Lease.Since.Equal(since)):
		s.Errorf("%s: got %+v, since %s; want %+v, since %s", what, held.Lease.Owner, held.Lease.Since, *o, since)
	}
	return held
}

// oneRunAtATime has a second owner come, in the same journal and in another one.
func oneRunAtATime(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part, journal.Part{Run: "run", Node: "other"})
	s.begin(j, key("x"), false)
	second := s.another(j)
	open := func(p journal.Part, o journal.Owner, version string, at time.Time) error {
		_, err := second.Open(s.Context(), p, o, version, at)
		return err
	}
	_ = s.wantHeld("a rival", open(part, rival, "v1", epoch), &owner, epoch, false)
	_ = s.wantHeld("one of another version", open(part, rival, "v2", epoch), &owner, epoch, false)
	if err := open(part, owner, "v1", epoch.Add(time.Second)); err != nil {
		t.Errorf("the owner opens its part again: %v", err)
	}
	_ = s.wantHeld("a rival", open(part, rival, "v1", epoch.Add(time.Second)), &owner, epoch, false)
	for _, p := range []journal.Part{{Run: "run", Node: "third"}, {Run: "another", Node: "node"}} {
		if err := open(p, rival, "v1", epoch); err != nil {
			t.Errorf("another part: %v", err)
		}
	}
	s.release(second, part, rival) // which does not have it
	_ = s.wantHeld("a rival", open(part, rival, "v1", epoch), &owner, epoch, false)
	s.release(second, journal.Part{Run: "never", Node: "opened"}, rival)

	s.release(j, part, owner)
	s.release(j, part, owner)
	if err := open(part, rival, "v2", epoch); !errors.As(err, new(*journal.VersionError)) {
		t.Errorf("another version: %v", err)
	}
	if err := open(part, rival, "v1", epoch.Add(time.Minute)); err != nil {
		t.Errorf("after the release: %v", err)
	}
	_, err := j.Open(s.Context(), part, owner, "v1", epoch.Add(time.Minute))
	_ = s.wantHeld("the owner before", err, &rival, epoch.Add(time.Minute), false)
}

// takenOver has a rival take the part of an owner that goes on.
func takenOver(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part)
	for _, c := range []string{"a", "b"} {
		s.begin(j, key(c), false)
	}
	s.finish(j, "mark", done("a", "1"))
	s.release(j, part, owner)
	lost := func(what string, by *journal.Owner) {
		t.Helper()
		_, err := j.Finish(s.Context(), part, owner, "its own", done("b", "1"))
		_ = s.wantHeld(what, err, by, epoch, true)
		_ = s.wantHeld(what, j.Renew(s.Context(), part, owner, epoch), by, epoch, true)
	}
	lost("after its release", nil)
	second := s.another(j)
	if _, err := second.Open(s.Context(), part, rival, "v1", epoch); err != nil {
		t.Fatal(err)
	}
	lost("after another has come", &rival)
	s.release(j, part, owner)
	lost("after another release", &rival)
	if _, err := second.Finish(s.Context(), part, rival, "", done("b", "of the rival")); err != nil {
		t.Errorf("the rival: %v", err)
	}
	s.release(second, part, rival)
	lost("after the rival has ended", nil)
	if at := s.progress(j, part); at != (journal.Progress{Done: 2, Mark: "mark"}) {
		t.Errorf("progress %+v", at)
	}
	if r := s.look(j, key("b")); string(r.Value) != "of the rival" {
		t.Errorf("recorded is %+v", r)
	}
	if err := j.Renew(s.Context(), journal.Part{Run: "r", Node: "n"}, owner, epoch); !errors.Is(err, journal.ErrNotOpen) {
		t.Errorf("Renew without Open: %v", err)
	}
}

// lapsing follows a claim that nothing is known of but its time.
func lapsing(t *testing.T, s *subject) {
	t.Helper()
	j := s.open()
	at, err := j.Open(s.Context(), part, owner, "v1", epoch)
	if err != nil {
		t.Fatal(err)
	}
	within := at.RenewWithin
	if within == 0 {
		_, err := j.Open(s.Context(), part, rival, "v1", epoch.AddDate(1, 0, 0))
		if held := s.wantHeld("a year later", err, &owner, epoch, false); !held.Lapses.IsZero() {
			t.Errorf("it is said to lapse at %s", held.Lapses)
		}
		return
	}
	open := func(o journal.Owner, after time.Duration) error {
		_, err := j.Open(s.Context(), part, o, "v1", epoch.Add(after))
		return err
	}
	held := s.wantHeld("just before", open(rival, within-time.Microsecond), &owner, epoch, false)
	if !held.Lapses.Equal(epoch.Add(within)) {
		t.Errorf("it lapses at %s", held.Lapses)
	}
	_ = s.wantHeld("by an earlier clock", open(rival, -within+time.Microsecond), &owner, epoch, false)
	if err := j.Renew(s.Context(), part, owner, epoch.Add(within/2)); err != nil {
		t.Error(err)
	}
	held = s.wantHeld("after it was renewed", open(rival, within+within/4), &owner, epoch, false)
	if !held.Lapses.Equal(epoch.Add(within + within/2)) {
		t.Errorf("it lapses at %s", held.Lapses)
	}
	if err := j.Renew(s.Context(), part, owner, epoch.Add(9*within)); err != nil {
		t.Errorf("nothing happened while it had lapsed: %v", err)
	}
	if err := open(rival, 10*within); err != nil {
		t.Errorf("a claim that has lapsed: %v", err)
	}
	_ = s.wantHeld("the owner before", j.Renew(s.Context(), part, owner, epoch.Add(10*within)), &rival, epoch.Add(10*within), true)
	if err := open(owner, 9*within); err != nil {
		t.Errorf("a claim by a clock that was put back: %v", err)
	}
}

// claimsOfTheDead are free at once.
func claimsOfTheDead(t *testing.T, s *subject) {
	t.Helper()
	dead := process.Self()
	if dead.Machine == "" {
		t.Skip("this system does not tell whether a process has ended")
	}
	dead.PID = 1 << 30
	gone := journal.Owner{ID: "gone", Host: "host", PID: dead.PID, Process: dead.String()}
	j := s.open()
	if _, err := j.Open(s.Context(), part, gone, "v1", epoch); err != nil {
		t.Fatal(err)
	}
	mine := journal.NewOwner()
	if _, err := s.another(j).Open(s.Context(), part, mine, "v1", epoch); err != nil {
		t.Errorf("its process is dead: %v", err)
	}
	_, err := j.Open(s.Context(), part, journal.NewOwner(), "v1", epoch)
	_ = s.wantHeld("another run of this process", err, &mine, epoch, false)
}

// oneClaimWins has many owners come at once, through several journals if the storage allows for that.
func oneClaimWins(t *testing.T, s *subject) {
	t.Helper()
	const owners, rounds = 8, 20
	journals := []journal.Journal{s.open()}
	for s.storage.Lasting && len(journals) < 3 {
		journals = append(journals, s.open())
	}
	for round := range rounds {
		p := journal.Part{Run: "run", Node: strconv.Itoa(round)}
		var mu sync.Mutex
		var won []journal.Owner
		var all sync.WaitGroup
		for i := range owners {
			o := journal.Owner{ID: strconv.Itoa(i)}
			j := journals[i%len(journals)]
			all.Go(func() {
				_, err := j.Open(s.Context(), p, o, "v1", epoch)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					won = append(won, o)
				} else if !errors.As(err, new(*journal.HeldError)) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Errorf("round %d: %d owners have the part", round, len(won))
		}
	}
}
