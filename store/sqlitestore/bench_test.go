package sqlitestore_test

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

var part = journal.Part{Run: "run", Node: "node"}

// owner has the part of all tests, in all processes.
var owner = journal.Owner{ID: "owner", Host: "host", PID: 1}

func key(content string) journal.Key { return journal.Key{Part: part, Content: content} }

func done(content, value string) journal.Record {
	return journal.Record{Key: key(content), State: journal.Done, Value: []byte(value), Attempts: 1, Ended: time.Now()}
}

func opened(tb testing.TB, path string, options ...sqlitestore.Option) *sqlitestore.Journal {
	tb.Helper()
	j, err := sqlitestore.OpenJournal(path, options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := j.Close(); err != nil {
			tb.Error(err)
		}
	})
	if _, err := j.Open(tb.Context(), part, owner, "v1", time.Now()); err != nil {
		tb.Fatal(err)
	}
	return j
}

// An item is begun and finished; each Finish is durable on return. To compare:
// CallersxFinish of 64x1 and 1x64 against 1x1, which is one commit for each item.
func BenchmarkItems(b *testing.B) {
	for _, c := range []struct{ callers, group int }{{1, 1}, {64, 1}, {1, 64}} {
		b.Run("callers="+strconv.Itoa(c.callers)+"/finish="+strconv.Itoa(c.group), func(b *testing.B) {
			j := opened(b, filepath.Join(b.TempDir(), "journal.db"))
			next := make(chan int, b.N)
			for i := range b.N {
				next <- i
			}
			close(next)
			value := string(make([]byte, 200))
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range c.callers {
				wg.Go(func() {
					var records []journal.Record
					finish := func() {
						if refused, err := j.Finish(b.Context(), part, owner, "mark", records...); err != nil || len(refused) > 0 {
							b.Errorf("%+v, %v", refused, err)
						}
						records = records[:0]
					}
					for i := range next {
						content := strconv.Itoa(i)
						if _, err := j.Begin(b.Context(), key(content), time.Now(), false); err != nil {
							b.Error(err)
						}
						if records = append(records, done(content, value)); len(records) == c.group {
							finish()
						}
					}
					finish()
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}
