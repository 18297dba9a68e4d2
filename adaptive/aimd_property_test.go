package adaptive_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/throttle"
)

// op is one thing that happens to a law.
type op struct {
	After time.Duration
	Kind  int // 0: try to send; 1: answer a call in flight; 2: signal
	Pick  int
	f     adaptive.Feedback
}

func drawOps(t *rapid.T) []op {
	verdicts := []adaptive.Verdict{
		adaptive.OK, adaptive.OK, adaptive.OK, adaptive.Hit, adaptive.Hit,
		adaptive.Overloaded, adaptive.Transient, adaptive.Unsent,
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		return op{
			After: time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 1e6, 1e9, 60e9}).Draw(t, "after")),
			Kind:  rapid.SampledFrom([]int{0, 0, 0, 1, 1, 1, 2}).Draw(t, "kind"),
			Pick:  rapid.IntRange(0, 1000).Draw(t, "pick"),
			f: adaptive.Feedback{
				Verdict:    rapid.SampledFrom(verdicts).Draw(t, "verdict"),
				RetryAfter: time.Duration(rapid.SampledFrom([]int64{0, 0, 1e9, 60e9, -1, math.MaxInt64}).Draw(t, "retry after")),
			},
		}
	}), 0, 200).Draw(t, "ops")
}

// world checks what must hold after every op.
type world struct {
	machine
	t        *rapid.T
	min, max int
	flying   []throttle.Sent
	lastCut  throttle.Sent // the newest call at the last cut
}

func (w *world) do(o op) {
	w.after(o.After)
	before := w.View()
	var judged throttle.Sent
	switch {
	case o.Kind == 0:
		wait := w.admit(len(w.flying))
		if wait < 0 {
			w.t.Fatalf("a negative wait: %s", wait)
		}
		if wait > 0 {
			return
		}
		if len(w.flying) >= before.Concurrency || w.now.Before(before.GateUntil) {
			w.t.Fatalf("%d in flight went at %s against %+v", len(w.flying), w.now, before)
		}
		w.flying = append(w.flying, w.send(1)...)
	case o.Kind == 1 && len(w.flying) > 0:
		i := o.Pick % len(w.flying)
		judged = w.flying[i]
		w.flying = append(w.flying[:i], w.flying[i+1:]...)
		w.answer(o.f, judged)
	case o.Kind == 2:
		judged = throttle.Sent{Seq: math.MaxInt64, At: w.now.Add(-time.Duration(o.Pick))}
		w.OnSignal(w.now, &adaptive.RateLimitHit{SentAt: judged.At})
	}
	w.check(before, judged)
}

func (w *world) check(before adaptive.View, judged throttle.Sent) {
	after := w.View()
	switch {
	case after.Concurrency < w.min || after.Concurrency > w.max:
		w.t.Fatalf("the window %d is not within %d and %d", after.Concurrency, w.min, w.max)
	case after.GateUntil.Before(before.GateUntil):
		w.t.Fatalf("the gate moved forward from %s to %s", before.GateUntil, after.GateUntil)
	case after.Cuts > before.Cuts+1:
		w.t.Fatalf("one answer cut %d times", after.Cuts-before.Cuts)
	case after.Cuts == before.Cuts && after.Concurrency < before.Concurrency:
		w.t.Fatalf("the window shrank from %d to %d without a cut", before.Concurrency, after.Concurrency)
	case after.Cuts == before.Cuts:
		return
	}
	if !w.lastCut.At.IsZero() && (judged.At.Before(w.lastCut.At) || judged.Seq <= w.lastCut.Seq) {
		w.t.Fatalf("a call sent before the last cut, %+v, cut again: %+v", w.lastCut, judged)
	}
	w.lastCut = throttle.Sent{Seq: w.seq, At: w.now}
}

func TestAIMDProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lowest := rapid.IntRange(1, 5).Draw(t, "min")
		law := adaptive.AIMD{
			Min: lowest, Max: rapid.IntRange(lowest, 40).Draw(t, "max"),
			Backoff:           rapid.Float64Range(0.01, 0.99).Draw(t, "backoff"),
			RecoveryThreshold: rapid.IntRange(1, 5).Draw(t, "threshold"),
			RecoveryFactor:    rapid.Float64Range(1, 3).Draw(t, "factor"),
		}
		seed := rapid.Uint64().Draw(t, "seed")
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		begin := func() *world {
			s, err := law.Start(now, seed)
			if err != nil {
				t.Fatal(err)
			}
			return &world{machine: machine{State: s, now: now}, t: t, min: law.Min, max: law.Max}
		}
		a, b := begin(), begin()
		for _, o := range drawOps(t) {
			a.do(o)
			b.do(o)
			if a.View() != b.View() {
				t.Fatalf("equal seeds differ:\n%+v\n%+v", a.View(), b.View())
			}
		}
		a.recovers(law)
	})
}

// recovers checks that under endless success every window grows to the
// ceiling, one call per round trip at the least.
func (w *world) recovers(law adaptive.AIMD) {
	w.answer(of(adaptive.OK), w.flying...)
	for range law.Max - w.window() + 1 {
		w.after(time.Millisecond).trip(law.RecoveryThreshold, time.Millisecond, of(adaptive.OK))
	}
	if w.window() != law.Max {
		w.t.Fatalf("the window sticks at %d of %d", w.window(), law.Max)
	}
}
