package journaltest

import (
	"testing"

	"github.com/headrace/headrace/journal"
)

// transitions tries every step from every state.
func transitions(t *testing.T, s *subject) {
	t.Helper()
	var (
		pending = journal.Record{Key: key("x"), State: journal.Pending, Begun: epoch}
		again   = journal.Record{Key: key("x"), State: journal.Pending, Begun: epoch, Attempts: 3}
		isDone  = begun(done("x", "1"))
		hasFail = begun(failed("x", "why"))
	)
	j := s.opened(part)
	for i, one := range []struct {
		from  []journal.Record // finished one after the other, each after a Begin with retry
		step  string
		was   journal.Record // that Begin returns, or that Finish refuses
		after journal.Record
	}{
		{nil, "begin", journal.Record{Key: key("x")}, pending},
		{nil, "retry", journal.Record{Key: key("x")}, pending},
		{nil, "finish", journal.Record{Key: key("x")}, journal.Record{Key: key("x")}},
		{[]journal.Record{pending}, "begin", pending, pending},
		{[]journal.Record{pending}, "retry", pending, pending},
		{[]journal.Record{pending}, "finish", journal.Record{}, begun(done("x", "2"))},
		{[]journal.Record{pending}, "fail", journal.Record{}, begun(failed("x", "other"))},
		{[]journal.Record{isDone}, "begin", isDone, isDone},
		{[]journal.Record{isDone}, "retry", isDone, isDone},
		{[]journal.Record{isDone}, "finish", isDone, isDone},
		{[]journal.Record{isDone}, "fail", isDone, isDone},
		{[]journal.Record{hasFail}, "begin", hasFail, hasFail},
		{[]journal.Record{hasFail}, "retry", hasFail, again},
		{[]journal.Record{hasFail}, "finish", hasFail, hasFail},
		{[]journal.Record{hasFail}, "fail", hasFail, hasFail},
		{[]journal.Record{hasFail, isDone}, "retry", isDone, isDone},
	} {
		at := key(string(rune('a' + i)))
		for _, r := range one.from {
			s.begin(j, at, true)
			if r.State != journal.Pending {
				r.Key = at
				s.finish(j, "", r)
			}
		}
		var was journal.Record
		switch one.step {
		case "begin", "retry":
			was = s.begin(j, at, one.step == "retry")
		case "finish", "fail":
			r := done("x", "2")
			if one.step == "fail" {
				r = failed("x", "other")
			}
			r.Key = at
			for _, was = range s.finish(j, "", r) {
				continue
			}
		}
		if one.was.State != journal.Unknown || one.was.Key != (journal.Key{}) {
			one.was.Key = at
		}
		one.after.Key = at
		if after := s.look(j, at); !same(was, one.was) || !same(after, one.after) {
			t.Errorf("%d: %s from %v:\nwas   %+v\nwant  %+v\nafter %+v\nwant  %+v", i, one.step, one.from, was, one.was, after, one.after)
		}
	}
}

// begun is r as it is kept, with the time of its Begin.
func begun(r journal.Record) journal.Record {
	r.Begun = epoch
	return r
}

// allOrNothing hides a bad record among good ones.
func allOrNothing(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part)
	s.begin(j, key("good"), false)
	bad := done("bad", "1")
	bad.State = journal.Pending
	if _, err := j.Finish(s.Context(), part, owner, "mark", done("good", "1"), bad); err == nil {
		t.Error("a record that is pending was taken as finished")
	}
	if r := s.look(j, key("good")); r.State != journal.Pending {
		t.Errorf("a Finish that failed has changed a record: %+v", r)
	}
	if p := s.progress(j, part); p.Mark != "" {
		t.Errorf("a Finish that failed has set the mark %q", p.Mark)
	}
}

// refusedRecords mixes records that may be finished with others, one of them twice.
func refusedRecords(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part)
	for _, c := range []string{"a", "b", "c"} {
		s.begin(j, key(c), false)
	}
	s.finish(j, "", done("a", "first"))
	refused := s.finish(j, "", done("a", "second"), done("b", "1"), done("b", "2"), failed("c", "why"), done("never begun", "1"))
	if len(refused) != 3 {
		t.Fatalf("%d records were refused; want 3: %+v", len(refused), refused)
	}
	s.wantSame(refused[0], begun(done("a", "first")))
	s.wantSame(refused[1], begun(done("b", "1")))
	s.wantSame(refused[2], journal.Record{Key: key("never begun")})
	s.wantSame(s.look(j, key("a")), begun(done("a", "first")))
	s.wantSame(s.look(j, key("b")), begun(done("b", "1")))
	s.wantSame(s.look(j, key("c")), begun(failed("c", "why")))
	if p := s.progress(j, part); p != (journal.Progress{Done: 2, Failed: 1}) {
		t.Errorf("progress %+v", p)
	}
}
