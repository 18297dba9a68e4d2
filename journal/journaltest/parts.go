package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/headrace/headrace/journal"
)

func versions(t *testing.T, s *subject) {
	t.Helper()
	j := s.open()
	open := func(p journal.Part, version string) error {
		_, err := j.Open(s.Context(), p, owner, version, epoch)
		return err
	}
	other := journal.Part{Run: "run", Node: "other"}
	for _, ok := range []error{open(part, "v1"), open(part, "v1"), open(other, ""), open(other, "")} {
		if ok != nil {
			t.Error(ok)
		}
	}
	for _, one := range []struct {
		p                journal.Part
		recorded, wanted string
	}{{part, "v1", "v2"}, {part, "v1", ""}, {other, "", "v1"}} {
		var mismatch *journal.VersionError
		if err := open(one.p, one.wanted); !errors.As(err, &mismatch) ||
			*mismatch != (journal.VersionError{Part: one.p, Recorded: one.recorded, Wanted: one.wanted}) {
			t.Errorf("%+v: got %v", one, err)
		}
	}
	if err := open(part, "v1"); err != nil {
		t.Errorf("the version was changed by an Open that failed: %v", err)
	}
	if _, err := j.Begin(s.Context(), journal.Key{Part: journal.Part{Run: "r", Node: "n"}, Content: "x"}, epoch, false); !errors.Is(err, journal.ErrNotOpen) {
		t.Errorf("Begin without Open: %v", err)
	}
	if _, err := j.Finish(s.Context(), journal.Part{Run: "r", Node: "n"}, owner, "m"); !errors.Is(err, journal.ErrNotOpen) {
		t.Errorf("Finish without Open: %v", err)
	}
}

// partsAreApart uses names that run together if a journal joins them without care.
func partsAreApart(t *testing.T, s *subject) {
	t.Helper()
	keys := []journal.Key{
		{Part: journal.Part{Run: "a", Node: "bc"}, Content: "d"},
		{Part: journal.Part{Run: "ab", Node: "c"}, Content: "d"},
		{Part: journal.Part{Run: "a/b", Node: "c"}, Content: "d"},
		{Part: journal.Part{Run: "a", Node: "b/c"}, Content: "d"},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "c/d"},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "d", Occurrence: 1},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "d1"},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "d", Occurrence: 11},
		{Part: journal.Part{Run: "A", Node: "b"}, Content: "d"},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "D"},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "d "},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "é"},
		{Part: journal.Part{Run: "a", Node: "b"}, Content: "e\u0301"},
		{Part: journal.Part{Run: "a%", Node: "_"}, Content: "'; --"},
	}
	j := s.open()
	for i, k := range keys {
		if _, err := j.Open(s.Context(), k.Part, owner, "v1", epoch); err != nil {
			t.Fatal(err)
		}
		if r := s.begin(j, k, false); r.State != journal.Unknown {
			t.Fatalf("%+v is already known as %+v", k, r)
		}
		r := journal.Record{Key: k, State: journal.Done, Value: fmt.Append(nil, i), Ended: epoch}
		if _, err := j.Finish(s.Context(), k.Part, owner, "", r); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range keys {
		if r := s.look(j, k); string(r.Value) != strconv.Itoa(i) {
			t.Errorf("%+v has the value %s; want %d", k, r.Value, i)
		}
	}
}

func marks(t *testing.T, s *subject) {
	t.Helper()
	other := journal.Part{Run: "run", Node: "other"}
	j := s.opened(part, other)
	for _, one := range []struct{ give, want string }{{"", ""}, {"1", "1"}, {"", "1"}, {"12", "12"}, {"3", "3"}} {
		s.finish(j, one.give)
		if got := s.progress(j, part).Mark; got != one.want {
			t.Errorf("after %q the mark is %q; want %q", one.give, got, one.want)
		}
	}
	if got := s.progress(j, other).Mark; got != "" {
		t.Errorf("another part has the mark %q", got)
	}
}

// behind follows what the output lacks: a mark is of an output that has what was
// finished before it, and not what was finished with it.
func behind(t *testing.T, s *subject) {
	t.Helper()
	j := s.opened(part)
	for _, c := range []string{"a", "b", "c", "d"} {
		s.begin(j, key(c), false)
	}
	check := func(what string, mark string, want ...string) {
		t.Helper()
		for _, j := range []journal.Journal{j, s.another(j)} {
			at, err := j.Open(s.Context(), part, owner, "v1", epoch)
			if err != nil || at.Behind != int64(len(want)) || at.Mark != mark {
				t.Errorf("%s: %+v, %v; want %d behind the mark %q", what, at, err, len(want), mark)
			}
			var got []string
			for r, err := range j.All(s.Context(), part) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Behind {
					got = append(got, r.Key.Content)
				}
				if b := s.begin(j, r.Key, false); b.Behind != r.Behind {
					t.Errorf("%s: Begin says of %q that it is behind: %v", what, r.Key.Content, b.Behind)
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: behind are %q; want %q", what, got, want)
			}
		}
	}
	check("nothing finished", "")
	given := done("a", "1")
	given.Behind = true // which is the journal's to say
	s.finish(j, "", given)
	check("no mark", "", "a")
	s.finish(j, "1", failed("b", "why"))
	check("with the next", "1", "b")
	s.finish(j, "", done("c", "1"))
	check("without", "1", "b", "c")
	s.begin(j, key("b"), true)
	check("tried again", "1", "c")
	refused := s.finish(j, "1", done("a", "again"), done("b", "2"))
	if len(refused) != 1 || refused[0].Behind {
		t.Errorf("refused %+v", refused)
	}
	check("the same mark", "1", "b")
	s.finish(j, "2")
	check("nothing more", "2")
	s.finish(j, "3", done("d", "1"))
	s.finish(j, "4")
	check("all of it", "4")
}

func all(t *testing.T, s *subject) {
	t.Helper()
	other := journal.Part{Run: "run", Node: "other"}
	elsewhere := journal.Part{Run: "another", Node: "node"}
	j := s.opened(part, other, elsewhere)
	for _, p := range []journal.Part{part, other, elsewhere} {
		for i := range 300 {
			s.begin(j, journal.Key{Part: p, Content: strconv.Itoa(i)}, false)
		}
	}
	count := func(p journal.Part) int {
		seen := map[journal.Key]bool{}
		for r, err := range j.All(s.Context(), p) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Key.Run != p.Run || p.Node != "" && r.Key.Node != p.Node {
				t.Fatalf("All of %+v yields %+v", p, r.Key)
			}
			seen[r.Key] = true
		}
		return len(seen)
	}
	for p, want := range map[journal.Part]int{
		part: 300, other: 300, {Run: "run"}: 600, {Run: "another"}: 300, {Run: "none"}: 0, {Run: "run", Node: "none"}: 0,
	} {
		if got := count(p); got != want {
			t.Errorf("All of %+v yields %d records; want %d", p, got, want)
		}
	}
	n := 0
	for r, err := range j.All(s.Context(), part) { // and the journal may be used meanwhile
		if err != nil {
			t.Fatal(err)
		}
		s.finish(j, "", done(r.Key.Content, "1"))
		if n++; n == 10 {
			break
		}
	}
	if got := s.progress(j, part); got != (journal.Progress{Pending: 290, Done: 10}) {
		t.Errorf("progress %+v", got)
	}
}
