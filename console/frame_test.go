package console

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/event"
)

func foreign() *event.Progress {
	p := busy()
	p.Name = "摘要\x1b[31mred\x1b[0m\r\nline\u202e"
	p.Nodes[1].Name = "\x1b]0;title\x07👩‍🚀 \u0007naïve e\u0301tude"
	p.Limiters[0].Name = "제한기"
	return p
}

func many() *event.Progress {
	p := busy()
	for i := range 30 {
		n := event.NodeProgress{Name: fmt.Sprintf("node %02d", i), Runs: 1}
		if i%8 == 7 {
			n.Running = 1
		}
		p.Nodes = append(p.Nodes, n)
		p.Limiters = append(p.Limiters, event.LimiterProgress{Name: fmt.Sprintf("key %02d", i), Live: true, InFlight: i % 2})
	}
	return p
}

func unknown() *event.Progress {
	p := busy()
	p.Items.Total, p.Items.ETA, p.Nodes[1].Total = 0, 0, 0
	return p
}

func closed() *event.Progress {
	p := busy()
	p.Limiters[0].Closed, p.Limiters[0].Why = true, "0 in flight, 4 waiting: closed, the money is gone"
	return p
}

func stopped() *event.Progress {
	p := over()
	p.Items.Done, p.Items.Abandoned = 1200, 16
	return p
}

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name          string
		p             *event.Progress
		failure       string
		width, height int
		style         style
	}{
		{name: "busy-80", p: busy(), width: 80, height: 24},
		{name: "busy-40", p: busy(), width: 40, height: 24},
		{name: "busy-200", p: busy(), width: 200, height: 50},
		{name: "busy-low", p: busy(), width: 80, height: 5},
		{name: "busy-ascii", p: busy(), width: 80, height: 24, style: style{ascii: true}},
		{name: "busy-colour", p: busy(), failure: "ask, item 3: no", width: 80, height: 24, style: style{colour: true}},
		{name: "over", p: over(), failure: "summarise, item 17, after 3 attempts: status 500", width: 80, height: 24},
		{name: "stopped", p: stopped(), width: 80, height: 24},
		{name: "unknown", p: unknown(), width: 80, height: 24},
		{name: "closed", p: closed(), width: 80, height: 24},
		{name: "foreign", p: foreign(), width: 80, height: 24},
		{name: "many", p: many(), width: 80, height: 24},
		{name: "begin", p: &event.Progress{Name: "digest", Nodes: []event.NodeProgress{{Name: "split", Running: 1}}}, width: 80, height: 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := frame(view{c.p, c.failure}, c.width, c.height, c.style)
			golden(t, "frame-"+c.name+".txt", strings.Join(lines, "\n")+"\n")
		})
	}
}

// Whatever the names are, a frame fits and moves no cursor.
func TestAFrameFits(t *testing.T) {
	name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"摘要", "\x1b[2J", "a\x1b[31mb", "👩‍🚀👨‍👩‍👧", "\u202eabc", "\x9b2J", "\u009b2J", "e\u0301"}))
	items := rapid.Custom(func(t *rapid.T) event.Items {
		n := rapid.Int64Range(0, 1<<40)
		return event.Items{
			Total: n.Draw(t, "total"), Pending: n.Draw(t, "pending"), Done: n.Draw(t, "done"), Failed: n.Draw(t, "failed"),
			Retries: n.Draw(t, "retries"), Rate: rapid.Float64().Draw(t, "rate"), ETA: time.Duration(n.Draw(t, "eta")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := &event.Progress{
			Name: name.Draw(t, "name"), Final: rapid.Bool().Draw(t, "final"), Items: items.Draw(t, "items"),
			Elapsed: time.Duration(rapid.Int64().Draw(t, "elapsed")),
		}
		for range rapid.IntRange(0, 20).Draw(t, "nodes") {
			p.Nodes = append(p.Nodes, event.NodeProgress{
				Name: name.Draw(t, "node"), Running: rapid.Int64Range(0, 3).Draw(t, "running"), Items: items.Draw(t, "node's"),
			})
		}
		for range rapid.IntRange(0, 8).Draw(t, "limiters") {
			p.Limiters = append(p.Limiters, event.LimiterProgress{
				Name: name.Draw(t, "limiter"), Live: rapid.Bool().Draw(t, "live"), Waiting: rapid.IntRange(0, 9).Draw(t, "waiting"),
				Closed: rapid.Bool().Draw(t, "closed"), Why: name.Draw(t, "why"), Pace: map[string]float64{name.Draw(t, "unit"): 7},
			})
		}
		width, height := rapid.IntRange(1, 250).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")
		v := view{p, clean(name.Draw(t, "failure"))}
		lines := frame(v, width, height, style{ascii: rapid.Bool().Draw(t, "ascii")})
		assert.LessOrEqual(t, len(lines), max(1, height-1))
		for _, line := range lines {
			assert.LessOrEqual(t, widthOf(line), max(1, width-1), "%q", line)
			assert.False(t, strings.ContainsFunc(line, unicode.IsControl), "%q", line)
		}
		coloured := frame(v, width, height, style{colour: true})
		for i, line := range frame(v, width, height, style{}) {
			assert.Equal(t, widthOf(line), visible(coloured[i]), "colours take no room: %q", line)
		}
	})
}

func TestTheNodesThatRunAreShown(t *testing.T) {
	out := strings.Join(frame(view{Progress: many()}, 80, 12, style{}), "\n")
	assert.Contains(t, out, "node 07")
	assert.Contains(t, out, "more nodes")
	assert.Contains(t, out, "more limiters")
}
