package journaltest

import (
	"testing"
	"time"

	"github.com/headrace/headrace/journal"
)

// Storage is where the journals under test keep their records. It is empty at first.
type Storage struct {
	// Open opens a journal on the storage, also while others on it are open. The suite closes it.
	Open func() (journal.Journal, error)
	// Lasting says that records outlive the journal that wrote them. Otherwise Open is called once for each Storage.
	Lasting bool
}

// Test runs the suite. storage is called for each test and makes a new one.
func Test(t *testing.T, storage func(t *testing.T) Storage) {
	t.Helper()
	for _, one := range []struct {
		name string
		test func(t *testing.T, s *subject)
	}{
		{"Transitions", transitions},
		{"FinishIsAllOrNothing", allOrNothing},
		{"RefusedRecordsComeBack", refusedRecords},
		{"Versions", versions},
		{"PartsAreApart", partsAreApart},
		{"Marks", marks},
		{"WhatTheOutputLacks", behind},
		{"OneRunAtATime", oneRunAtATime},
		{"ARunThatWasTakenOver", takenOver},
		{"ClaimsLapse", lapsing},
		{"ClaimsOfTheDead", claimsOfTheDead},
		{"OneClaimWins", oneClaimWins},
		{"Values", values},
		{"BadInput", badInput},
		{"OneFinishWins", oneFinishWins},
		{"All", all},
		{"Laws", laws},
		{"Runs", runs},
		{"Forgetting", forgetting},
		{"ForgettingARunThatIsResumed", forgettingARunThatIsResumed},
		{"ForgettingARunAtWork", forgettingARunAtWork},
		{"RandomHistory", randomHistory},
		{"ContextsAndClosing", contextsAndClosing},
		{"Lasting", lasting},
	} {
		t.Run(one.name, func(t *testing.T) { one.test(t, &subject{T: t, storage: storage(t)}) })
	}
}

// epoch is a time that microseconds can tell exactly.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 123_456_000, time.UTC) //nolint:gochecknoglobals // a constant but for its type

// subject opens journals and fails the test where they fail.
type subject struct {
	*testing.T
	storage Storage
}

func (s *subject) open() journal.Journal {
	s.Helper()
	j, err := s.storage.Open()
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := j.Close(); err != nil {
			s.Error(err)
		}
	})
	return j
}

// opened is a journal in which p is open.
func (s *subject) opened(parts ...journal.Part) journal.Journal {
	s.Helper()
	j := s.open()
	for _, p := range parts {
		if _, err := j.Open(s.Context(), p, owner, "v1", epoch); err != nil {
			s.Fatal(err)
		}
	}
	return j
}

func (s *subject) begin(j journal.Journal, k journal.Key, retry bool) journal.Record {
	s.Helper()
	r, err := j.Begin(s.Context(), k, epoch, retry)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// finish reports how many of the records were refused.
func (s *subject) finish(j journal.Journal, mark string, records ...journal.Record) []journal.Record {
	s.Helper()
	refused, err := j.Finish(s.Context(), part, owner, mark, records...)
	if err != nil {
		s.Fatal(err)
	}
	return refused
}

// look returns the record of k without changing anything, for one that is known.
func (s *subject) look(j journal.Journal, k journal.Key) journal.Record {
	s.Helper()
	for r, err := range j.All(s.Context(), k.Part) {
		if err != nil {
			s.Fatal(err)
		}
		if r.Key == k {
			return r
		}
	}
	return journal.Record{Key: k}
}

// progress is that of p, without what behind and lapsing are about.
func (s *subject) progress(j journal.Journal, p journal.Part) journal.Progress {
	s.Helper()
	at, err := j.Open(s.Context(), p, owner, "v1", epoch)
	if err != nil {
		s.Fatal(err)
	}
	at.Behind, at.RenewWithin = 0, 0
	return at
}

// owner has the parts of all tests but those about owners. Nothing is known of its process.
var owner = journal.Owner{ID: "owner", Host: "host", PID: 1} //nolint:gochecknoglobals // a constant but for its type

var part = journal.Part{Run: "run", Node: "node"} //nolint:gochecknoglobals // a constant but for its type

func key(content string) journal.Key { return journal.Key{Part: part, Content: content} }

func done(content, value string) journal.Record {
	return journal.Record{
		Key: key(content), State: journal.Done, Value: []byte(value), Attempts: 1,
		Ended: epoch.Add(time.Second),
	}
}

func failed(content, why string) journal.Record {
	return journal.Record{
		Key: key(content), State: journal.Failed, Err: why, Attempts: 3,
		Ended: epoch.Add(time.Second),
	}
}

// same compares records by what they mean: a nil Value is an empty one, and
// times are the same instant.
func same(a, b journal.Record) bool {
	return a.Key == b.Key && a.State == b.State && string(a.Value) == string(b.Value) && a.Err == b.Err &&
		a.Attempts == b.Attempts && a.Begun.Equal(b.Begun) && a.Ended.Equal(b.Ended)
}

func (s *subject) wantSame(got, want journal.Record) {
	s.Helper()
	if !same(got, want) {
		s.Errorf("got  %+v\nwant %+v", got, want)
	}
}
