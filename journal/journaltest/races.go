package journaltest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/journal"
)

// oneFinishWins has many goroutines begin and finish the same items, through
// several journals if the storage allows for that.
func oneFinishWins(t *testing.T, s *subject) {
	t.Helper()
	const goroutines, items = 8, 60
	journals := []journal.Journal{s.opened(part)}
	for s.storage.Lasting && len(journals) < 3 {
		journals = append(journals, s.open())
	}
	var wins [items]atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		j := journals[g%len(journals)]
		order := rand.New(rand.NewPCG(1, uint64(g))).Perm(items) //nolint:gosec // a seed makes it repeatable
		wg.Go(func() {
			for _, i := range order {
				k := key(strconv.Itoa(i))
				if _, err := j.Begin(s.Context(), k, epoch, false); err != nil {
					t.Error(err)
					return
				}
				r := journal.Record{Key: k, State: journal.Done, Value: fmt.Append(nil, g), Ended: epoch}
				refused, err := j.Finish(s.Context(), part, owner, "", r)
				switch {
				case err != nil:
					t.Error(err)
					return
				case len(refused) == 0:
					wins[i].Add(1)
				case refused[0].State != journal.Done:
					t.Errorf("item %d was refused as %+v", i, refused[0])
				}
			}
		})
	}
	wg.Wait()
	for i := range wins {
		if n := wins[i].Load(); n != 1 {
			t.Errorf("item %d was finished %d times", i, n)
		}
	}
}

// lasting closes the journal and looks at what another one finds.
func lasting(t *testing.T, s *subject) {
	t.Helper()
	if !s.storage.Lasting {
		t.Skip("the storage ends with the journal")
	}
	j := s.opened(part)
	s.begin(j, key("done"), false)
	s.begin(j, key("failed"), false)
	s.begin(j, key("pending"), false)
	s.finish(j, "mark", done("done", "1"), failed("failed", "why"))
	second := s.open()
	s.wantSame(s.begin(second, key("done"), false), begun(done("done", "1")))
	if k, ok := j.(journal.LawKeeper); ok {
		if err := k.SaveLaw(s.Context(), "l", journal.Law{State: []byte("s"), At: epoch}); err != nil {
			t.Error(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = s.open()
	if got := s.progress(j, part); got != (journal.Progress{Pending: 1, Done: 1, Failed: 1, Mark: "mark"}) {
		t.Errorf("progress %+v", got)
	}
	s.wantSame(s.begin(j, key("done"), false), begun(done("done", "1")))
	s.wantSame(s.begin(j, key("failed"), false), begun(failed("failed", "why")))
	s.wantSame(s.begin(j, key("pending"), false), journal.Record{Key: key("pending"), State: journal.Pending, Begun: epoch})
	if k, ok := j.(journal.LawKeeper); ok {
		if l, err := k.LoadLaw(s.Context(), "l"); err != nil || string(l.State) != "s" {
			t.Errorf("law %+v, %v", l, err)
		}
	}
}

// randomHistory compares the journal with a model of a few lines.
func randomHistory(t *testing.T, s *subject) {
	t.Helper()
	const steps, items = 1500, 12
	j := s.opened(part)
	model := map[journal.Key]journal.Record{}
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a seed makes it repeatable
	for step := range steps {
		k := journal.Key{Part: part, Content: strconv.Itoa(random.IntN(items / 2)), Occurrence: int64(random.IntN(2))}
		known, ok := model[k]
		if !ok {
			known = journal.Record{Key: k}
		}
		at := epoch.Add(time.Duration(step) * time.Second)
		switch random.IntN(6) {
		case 0, 1, 2:
			retry := random.IntN(3) == 0
			got, err := j.Begin(s.Context(), k, at, retry)
			if err != nil {
				t.Fatal(err)
			}
			s.wantSame(got, known)
			if known.State == journal.Unknown || known.State == journal.Failed && retry {
				model[k] = journal.Record{Key: k, State: journal.Pending, Begun: at, Attempts: known.Attempts}
			}
		default:
			r := journal.Record{Key: k, State: journal.Done, Value: fmt.Append(nil, step), Attempts: step, Ended: at}
			if random.IntN(3) > 0 {
				r.State, r.Value, r.Err = journal.Failed, nil, strconv.Itoa(step)
			}
			refused, err := j.Finish(s.Context(), part, owner, "", r)
			if err != nil {
				t.Fatal(err)
			}
			if known.State == journal.Pending {
				r.Begun = known.Begun
				model[k] = r
				if len(refused) > 0 {
					t.Fatalf("step %d: a pending item was refused: %+v", step, refused)
				}
			} else if len(refused) != 1 || !same(refused[0], known) {
				t.Fatalf("step %d: refused %+v; want %+v", step, refused, known)
			}
		}
		if t.Failed() {
			t.Fatalf("at step %d", step)
		}
	}
	n := 0
	for r, err := range j.All(s.Context(), part) {
		if err != nil {
			t.Fatal(err)
		}
		s.wantSame(r, model[r.Key])
		n++
	}
	if n != len(model) {
		t.Errorf("%d records; want %d", n, len(model))
	}
}
