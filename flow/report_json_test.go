package flow_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

func TestTheJSONOfAReport(t *testing.T) {
	r := flow.Report{
		Action: "ok", Last: "b", Elapsed: 1500 * time.Millisecond, Steps: 2,
		Nodes:    map[string]flow.NodeReport{"b": {Runs: 1, Failures: 2, Done: 3, Failed: 4, Resumed: 5, Stale: 8, Abandoned: 6, Retries: 7}},
		Limiters: map[string]flow.LimiterReport{"l": {Hits: 1, Cuts: 2, Recoveries: 3, Closed: true}},
	}
	const head = `{"action":"ok","last":"b","elapsed_s":1.5,"steps":2,` +
		`"nodes":{"b":{"runs":1,"failures":2,"done":3,"failed":4,"resumed":5,"stale":8,"abandoned":6,"retries":7}},` +
		`"limiters":{"l":{"hits":1,"cuts":2,"recoveries":3,"closed":true}}`
	text, err := json.Marshal(&r)
	require.NoError(t, err)
	require.Equal(t, head+"}", string(text))

	r.Series = &flow.Series{
		Interval: time.Second, At: []time.Duration{0, 1500 * time.Millisecond},
		Nodes: map[string]flow.NodeSeries{"b": {Done: []int64{0, 3}, Failed: []int64{0, 4}}},
		Limiters: map[string]flow.LimiterSeries{"l": {
			Limit: []int{4, 2}, InFlight: []int{1, 0}, Waiting: []int{9, 0},
			Pace: []float64{0, 0.5}, Rate: []float64{0, 2}, Hits: []int64{0, 1},
		}},
	}
	text, err = json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, head+`,"series":{"interval_s":1,"at_s":[0,1.5],"nodes":{"b":{"done":[0,3],"failed":[0,4]}},`+
		`"limiters":{"l":{"limit":[4,2],"in_flight":[1,0],"waiting":[9,0],"pace":[0,0.5],"rate":[0,2],"hits":[0,1]}}}}`, string(text))
	var back flow.Report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, r, back)
}

func TestAReportComesBackFromItsJSON(t *testing.T) {
	upTo97Days := rapid.Map(rapid.Int64Range(0, int64(97*24*time.Hour)), func(n int64) time.Duration { return time.Duration(n) })
	columns := func(t *rapid.T, n int) []int64 { return rapid.SliceOfN(rapid.Int64Min(0), n, n).Draw(t, "column") }
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "moments")
		name := rapid.StringN(0, 5, -1).Draw(t, "name")
		in := flow.Report{
			Action: node.Action(name), Last: name, Elapsed: upTo97Days.Draw(t, "elapsed"), Steps: columns(t, 1)[0],
			Nodes:    map[string]flow.NodeReport{name: {Runs: columns(t, 1)[0], Resumed: 1}},
			Limiters: map[string]flow.LimiterReport{name: {Cuts: columns(t, 1)[0]}},
			Series: &flow.Series{
				Interval: upTo97Days.Draw(t, "interval"), At: rapid.SliceOfN(upTo97Days, n, n).Draw(t, "at"),
				Nodes: map[string]flow.NodeSeries{name: {Done: columns(t, n), Failed: columns(t, n)}},
				Limiters: map[string]flow.LimiterSeries{name: {
					Limit: make([]int, n), InFlight: make([]int, n), Waiting: make([]int, n), Hits: columns(t, n),
					Pace: rapid.SliceOfN(rapid.Float64Range(0, 1e9), n, n).Draw(t, "pace"), Rate: make([]float64, n),
				}},
			},
		}
		text, err := json.Marshal(in)
		require.NoError(t, err)
		var out flow.Report
		require.NoError(t, json.Unmarshal(text, &out))
		require.Equal(t, in, out)
	})
}

// Seconds in a float64 are a nanosecond apart at 97 days, and a product of theirs is rounded once more.
func TestLongDurationsComeBackToTheNanosecond(t *testing.T) {
	for _, at := range []time.Duration{4194304000000062, 97 * 24 * time.Hour, -1} {
		in := flow.Series{Interval: at, At: []time.Duration{at}}
		text, err := json.Marshal(in)
		require.NoError(t, err)
		var out flow.Series
		require.NoError(t, json.Unmarshal(text, &out))
		require.Equal(t, in.At, out.At)
	}
}

func TestJSONThatIsNoReport(t *testing.T) {
	var r flow.Report
	require.Error(t, json.Unmarshal([]byte(`{"elapsed_s":"1"}`), &r))
	require.Error(t, json.Unmarshal([]byte(`{"series":{"at_s":1}}`), &r))
	require.EqualError(t, json.Unmarshal([]byte(`{"series":{"at_s":[0,1],"nodes":{"b":{"done":[1,2],"failed":[1]}}}}`), &r),
		`flow: series: node "b": a column of 1 points beside 2 in at_s`)
	require.EqualError(t, json.Unmarshal([]byte(`{"series":{"at_s":[],"limiters":{"l":{"hits":[1]}}}}`), &r),
		`flow: series: limiter "l": a column of 1 points beside 0 in at_s`)
	require.NoError(t, json.Unmarshal([]byte(`{"steps":3,"of a later version":1}`), &r))
	require.Equal(t, int64(3), r.Steps)
}

func TestAReportWithATimeThatCannotBeIsRefused(t *testing.T) {
	for text, field := range map[string]string{
		`{"elapsed_s":-1e10}`: "elapsed_s", `{"elapsed_s":31556952000}`: "elapsed_s", `{"elapsed_s":9223372036.854775807}`: "elapsed_s",
		`{"series":{"interval_s":1e300}}`: "interval_s", `{"series":{"at_s":[1,-1e300]}}`: "at_s[1]",
	} {
		var r flow.Report
		err := json.Unmarshal([]byte(text), &r)
		var wrong *fault.FieldError
		require.ErrorAs(t, err, &wrong, text)
		assert.Equal(t, field, wrong.Field, text)
		assert.Zero(t, r.Elapsed, text)
	}
}
