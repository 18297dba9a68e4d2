package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// feed is an endless log of calls that use three windows to the full: 1,000
// requests and 60,000 tokens come every second.
func feed(calls int, a *Auditor) {
	for i := range calls {
		e := Entry{At: time.Duration(i) * time.Millisecond, Weights: Weights{1, 60}}
		if i%8 == 7 {
			e.Kind, e.Of, e.Weights[0], e.Weights[1] = GiveBack, i-5, 0, 20
		}
		a.Add(e)
	}
}

func threeRules() *Auditor {
	return NewAuditor(Sliding(0, 60_000, time.Minute), Bucket(1, 3_600_000, time.Minute, 10_000),
		Fixed(1, 24*3_600_000_000, 24*time.Hour, time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC()))
}

func BenchmarkAuditor(b *testing.B) {
	b.Run("three windows", func(b *testing.B) {
		a := threeRules()
		b.ReportAllocs()
		feed(b.N, a)
		if err := a.Verdict().Err(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("concurrency and order", func(b *testing.B) {
		a := NewAuditor(Concurrency(64), FIFO())
		b.ReportAllocs()
		for i := range b.N {
			n := a.Add(Entry{Ticket: int64(i + 1)})
			a.Add(Entry{Kind: End, Of: n})
		}
		if err := a.Verdict().Err(); err != nil {
			b.Fatal(err)
		}
	})
}

// TestMemory: once a window is full, more calls need no more memory.
func TestMemory(t *testing.T) {
	a := NewAuditor(Sliding(0, 1000, sec), Bucket(0, 1000, sec, 1000), Concurrency(10))
	at := time.Duration(0)
	calls := func() {
		for range 10_000 {
			n := a.Add(Entry{At: at, Weights: Weights{2}})
			a.Add(back(at, n, 1))
			a.Add(end(at, n))
			at += time.Millisecond
		}
	}
	calls()
	require.Zero(t, testing.AllocsPerRun(5, calls))
	v := a.Verdict()
	require.Equal(t, 1001.0, v.Tallies[0].Worst.Observed, "999 of the last second, and 2 before one is given back")
	require.Equal(t, 1.0, v.Tallies[2].Worst.Observed)
}
