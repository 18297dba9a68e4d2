package line_test

import (
	"context"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/line"
	"github.com/headrace/headrace/throttle"
)

// step is something that one of several turns does, or time that passes.
type step struct {
	what string
	of   int
}

// takeSteps takes steps and then ends all turns. It returns what went wrong.
func takeSteps(t *testing.T, steps []step) (problem string) {
	t.Helper()
	l := line.New(line.Config{MaxQueue: 4, MaxWait: time.Hour})
	var all []*waiter
	asked := func(w *waiter, err error) {
		if again := w.Asked(err); again {
			w.await()
		} else {
			all = slices.DeleteFunc(all, func(o *waiter) bool { return o == w })
		}
	}
	for _, s := range steps {
		switch s.what {
		case "interactive":
			all = append(all, begin(t, l, interactive(strconv.Itoa(s.of%3))))
			continue
		case "batch":
			all = append(all, begin(t, l, batch(strconv.Itoa(s.of%3))))
			continue
		case "time passes":
			time.Sleep(2 * time.Second)
			synctest.Wait()
			waits, asks := 0, 0
			for _, w := range all {
				if ctx := w.asks(); ctx != nil && ctx.Err() == nil {
					asks++
				} else if ctx == nil && w.failed() == nil {
					waits++
				}
			}
			if waits > 0 && asks == 0 {
				return strconv.Itoa(waits) + " wait, and none asks"
			}
			continue
		}
		if len(all) == 0 {
			continue
		}
		w := all[s.of%len(all)]
		if s.what == "leaves" {
			w.leave(io.EOF)
			synctest.Wait()
		}
		if w.failed() != nil {
			all = slices.DeleteFunc(all, func(o *waiter) bool { return o == w })
		}
		ctx := w.asks()
		switch {
		case ctx == nil:
		case s.what == "queued":
			w.Queued()
		case s.what == "admitted":
			asked(w, nil)
		case s.what == "admitted as others leave":
			asked(w, nil)
			for i, o := range all {
				if i%2 == 0 {
					o.leave(io.EOF)
				}
			}
		case s.what == "returns" && ctx.Err() != nil:
			asked(w, context.Cause(ctx))
		case s.what == "limited":
			asked(w, throttle.ErrLimited)
		case s.what == "fails":
			asked(w, io.ErrClosedPipe)
		}
	}
	for n := 0; len(all) > 0; n++ {
		if n > 1000 {
			return strconv.Itoa(len(all)) + " never end"
		}
		for _, w := range slices.Clone(all) {
			if w.failed() != nil {
				all = slices.DeleteFunc(all, func(o *waiter) bool { return o == w })
			} else if ctx := w.asks(); ctx != nil {
				asked(w, context.Cause(ctx))
			}
		}
		time.Sleep(2 * time.Second)
	}
	if s := l.Stats(); len(s) > 0 && (s[0].Waiting > 0 || s[0].Oldest > 0) {
		return "some are left in the line"
	}
	return ""
}

// Whatever turns do, and whether they return or not, there is one that asks two
// seconds later.
func TestNoTurnIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{
				rapid.SampledFrom([]string{"interactive", "batch", "queued", "queued", "returns", "admitted", "admitted as others leave", "limited", "fails", "leaves", "time passes"}).Draw(t, "what"),
				rapid.IntRange(0, 9).Draw(t, "of"),
			}
		}), 20, 60).Draw(rt, "steps")
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = takeSteps(t, steps) })
		assert.Empty(rt, problem)
	})
}
