package console

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/event"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                      "plain",
		"  a \t\r\n b  ":             "a b",
		"\x1b[31mred\x1b[0m":         "red",
		"\x1b]0;title\x07shown":      "shown",
		"\x1b[2J\x1b[H":              "",
		"a\x00b\x07c\x7fd":           "abcd",
		"\u009b31mx":                 "31mx",
		"bi\u202edi\u2066":           "bidi",
		"bad\xffutf":                 "bad\ufffdutf",
		"👩‍🚀":                        "👩‍🚀",
		"\u0301accent":               "\u0301accent",
		"\ufeffmark":                 "mark",
		strings.Repeat("é", 600):     strings.Repeat("é", 500) + "…",
		strings.Repeat("x", 100):     strings.Repeat("x", 100),
		"\x1b[31" + "\x1b[0munended": "[31unended",
	} {
		assert.Equal(t, want, clean(in), "%q", in)
	}
}

func TestCleanIsHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := clean(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text"))
		require.False(t, strings.ContainsFunc(s, unicode.IsControl), "%q", s)
		require.Equal(t, s, clean(s), "%q", s)
		require.Equal(t, widthOf(s)+2, widthOf(" "+s+" "), "%q", s)
		most := rapid.IntRange(0, 50).Draw(t, "most")
		require.LessOrEqual(t, widthOf(cut(s, most, "…")), most, "%q", s)
	})
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		assert.Equal(t, want, count(n))
	}
	for perSecond, want := range map[float64]string{
		0: "", -1: "", math.NaN(): "", math.Inf(1): "", 0.5: "30.0/min", 0.01: "0.6/min", 1: "1.0/s", 99.94: "99.9/s", 99.96: "100/s", 12345.6: "12,346/s",
	} {
		assert.Equal(t, want, speed(perSecond), "%v", perSecond)
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 59 * time.Second: "59s", 126 * time.Second: "2m06s",
		time.Hour + 4*time.Minute: "1h04m", 75 * time.Hour: "3d03h", 59500 * time.Millisecond: "1m00s",
	} {
		assert.Equal(t, want, span(d), "%s", d)
	}
	assert.Equal(t, []string{"0.3s", "9.9s", "10s"}, []string{exact(300 * time.Millisecond), exact(9940 * time.Millisecond), exact(9950 * time.Millisecond)})
	assert.Equal(t, []string{"", "0%", "99%", "100%", "100%"}, []string{percent(1, 0), percent(0, 9), percent(9999, 10000), percent(3, 3), percent(4, 3)})
}

func TestPlainLines(t *testing.T) {
	late := stopped()
	late.Items.ETA = 0
	lines := []string{
		plainLine(busy()), plainLine(unknown()), plainLine(over()), plainLine(late), plainLine(foreign()),
		plainLine(&event.Progress{Name: "digest", Elapsed: 3 * time.Second}),
	}
	golden(t, "plain-lines.txt", strings.Join(append(lines, plainEnd(over())...), "\n")+"\n")
}

func TestPlainPacing(t *testing.T) {
	p := pacing{}
	var at []time.Duration
	for s := range 3600 {
		if p.due(&event.Progress{Elapsed: time.Duration(s) * time.Second}) {
			at = append(at, time.Duration(s)*time.Second)
		}
	}
	assert.Equal(t, time.Second, at[0])
	assert.Equal(t, 2*time.Second, at[1])
	assert.Less(t, len(at), 100)
	assert.Equal(t, time.Minute, at[len(at)-1]-at[len(at)-2])

	t.Run("a twentieth comes sooner, but not within a second", func(t *testing.T) {
		p := pacing{}
		look := func(s float64, done int64) bool {
			return p.due(&event.Progress{Elapsed: time.Duration(s * float64(time.Second)), Items: event.Items{Total: 100, Done: done}})
		}
		assert.True(t, look(100, 1))
		assert.False(t, look(100.5, 5))
		assert.False(t, look(101, 4))
		assert.True(t, look(102, 5))
		assert.False(t, look(104, 9))
		assert.True(t, look(114, 9))
	})
	t.Run("a given interval is kept", func(t *testing.T) {
		p := pacing{least: 10 * time.Second}
		var n int
		for s := range 101 {
			if p.due(&event.Progress{Elapsed: time.Duration(s) * time.Second, Items: event.Items{Total: 100, Done: int64(s)}}) {
				n++
			}
		}
		assert.Equal(t, 10, n)
	})
	t.Run("another run begins anew", func(t *testing.T) {
		p := pacing{}
		assert.True(t, p.due(&event.Progress{Elapsed: time.Hour}))
		assert.True(t, p.due(&event.Progress{Elapsed: time.Second}))
	})
}

func TestJSONLine(t *testing.T) {
	p := foreign()
	p.Nodes[0].Name = "c1 \u009b2J"
	text, err := jsonText(p, []string{"first failure: x"})
	require.NoError(t, err)
	golden(t, "line.json", text+"\n")
	require.False(t, strings.ContainsFunc(text, unicode.IsControl))
	var back map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &back))
	node := back["nodes"].([]any)[0].(map[string]any)
	require.Equal(t, "c1 \u009b2J", node["name"], "a name is data here")
}

func TestHeld(t *testing.T) {
	assert.Equal(t, "4 waiting for summarise (held back by the learned rate of 9.9 requests/s, rising until it is refused)", held(busy().Limiters))
	for _, remark := range []string{"", " (following process 7)", " (alone with 1/2 of each limit: dial tcp 127.0.0.1:1: connection refused)", " (alone: a: b) (without the store: timeout)"} {
		why := "0 in flight, 2 waiting" + remark + ": held back by 3/s for another 2s (that of a: b)"
		assert.Equal(t, "2 waiting for a (held back by 3/s for another 2s (that of a: b))", held([]event.LimiterProgress{{Name: "a", Waiting: 2, Why: why}}))
	}
	assert.Equal(t, "2 waiting for a (some other wording)", held([]event.LimiterProgress{{Name: "a", Waiting: 2, Why: "some other wording"}}))
	assert.Empty(t, held(over().Limiters))
}
