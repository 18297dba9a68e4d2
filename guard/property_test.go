package guard_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawGuards(t *rapid.T) (all []layer) {
	for i := range rapid.IntRange(1, 5).Draw(t, "guards") {
		l := layer{
			most:    rapid.IntRange(0, 3).Draw(t, "most"),
			window:  rapid.SampledFrom([]int64{0, 0, 1, 5}).Draw(t, "window"),
			law:     rapid.IntRange(0, len(laws)-1).Draw(t, "law"),
			timeout: rapid.IntRange(0, 3).Draw(t, "timeout") == 0,
			maxWait: rapid.SampledFrom([]time.Duration{0, 0, time.Second, 10 * time.Second}).Draw(t, "maxWait"),
		}
		for w := range i {
			if rapid.Bool().Draw(t, "within") {
				l.within = append(l.within, w)
			}
		}
		all = append(all, l)
	}
	return all
}

func drawCall(t *rapid.T, guards, depth int) planned {
	millis := func(name string, values ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(values).Draw(t, name)) * time.Millisecond
	}
	c := planned{
		at: millis("at", 0, 0, 100, 500, 1000, 2500), deadline: millis("deadline", 100, 1000, 5000, 60_000, 600_000),
		takes: millis("takes", 0, 1, 100, 700, 3000),
		line:  rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "line"),
		how:   how(rapid.IntRange(0, int(ways)-1).Draw(t, "how")),
	}
	for range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "joined") {
		c.guards = append(c.guards, rapid.IntRange(0, guards-1).Draw(t, "guard"))
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 3}).Draw(t, "attempts") {
		c.fates = append(c.fates, fate(rapid.IntRange(0, int(fates)-1).Draw(t, "fate")))
	}
	if depth > 0 {
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "inside") {
			c.inside = append(c.inside, drawCall(t, guards, depth-1))
		}
	}
	return c
}

func drawChange(t *rapid.T, guards int) change {
	return change{
		at:    time.Duration(rapid.IntRange(0, 30).Draw(t, "at")) * 100 * time.Millisecond,
		guard: rapid.IntRange(0, guards-1).Draw(t, "guard"),
		most:  rapid.IntRange(0, 3).Draw(t, "most"),
		law:   rapid.IntRange(0, len(laws)-1).Draw(t, "law"),
		kind:  rapid.IntRange(0, 4).Draw(t, "kind"),
	}
}

// Whatever calls and changes there are, no limit is exceeded, every call ends
// with an error that is documented, and nothing is left behind.
// make verify plays 20,000 programs.
func TestProgramsExceedAndLeakNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := program{queue: rapid.SampledFrom([]int{0, 2}).Draw(rt, "queue"), patience: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "patience")}
		p.guards = drawGuards(rt)
		for range rapid.IntRange(1, 25).Draw(rt, "calls") {
			p.calls = append(p.calls, drawCall(rt, len(p.guards), 2))
		}
		for range rapid.IntRange(0, 6).Draw(rt, "changes") {
			p.changes = append(p.changes, drawChange(rt, len(p.guards)))
		}
		if problems := p.play(t); len(problems) > 0 {
			rt.Fatalf("%d problems, such as %s", len(problems), problems[0])
		}
	})
}
