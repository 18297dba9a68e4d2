package flowtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/flow/flowtest"
)

const sec = time.Second

// at are calls of no duration at these seconds.
func at(starts ...int) flowtest.Calls {
	var cs flowtest.Calls
	for i, s := range starts {
		cs = append(cs, flowtest.Call{
			Provider: "api", Key: fmt.Sprint("k", i), Seq: i + 1, Attempt: 1,
			Start: time.Duration(s) * sec, End: time.Duration(s) * sec, Outcome: flowtest.Answered,
		})
	}
	return cs
}

func TestMaxIn(t *testing.T) {
	for _, c := range []struct {
		starts []int
		per    time.Duration
		want   int
	}{
		{nil, sec, 0},
		{[]int{5}, sec, 1},
		{[]int{0, 10}, 10 * sec, 1}, // a call after exactly 10s is in the next span
		{[]int{0, 10}, 10*sec + 1, 2},
		{[]int{0, 0, 0, 9}, 10 * sec, 4},
		{[]int{9, 0, 3}, 10 * sec, 3}, // in any order
		{[]int{0, 1, 20, 21, 22}, 5 * sec, 3},
	} {
		assert.Equal(t, c.want, at(c.starts...).MaxIn(c.per), "%v in %s", c.starts, c.per)
	}
}

func TestMaxInFlight(t *testing.T) {
	span := func(from, to int) flowtest.Call {
		return flowtest.Call{Start: time.Duration(from) * sec, End: time.Duration(to) * sec, Outcome: flowtest.Answered}
	}
	for about, c := range map[string]struct {
		calls flowtest.Calls
		want  int
	}{
		"none":                         {nil, 0},
		"one after the other":          {flowtest.Calls{span(0, 1), span(1, 2), span(2, 3)}, 1},
		"two of three":                 {flowtest.Calls{span(0, 2), span(1, 3), span(2, 4)}, 2},
		"in any order":                 {flowtest.Calls{span(2, 4), span(0, 3), span(1, 2)}, 2},
		"no time at all":               {flowtest.Calls{span(1, 1), span(1, 1)}, 1},
		"one that never ends":          {flowtest.Calls{{Outcome: flowtest.Running}, span(50, 51)}, 2},
		"ended at the beginning is no": {flowtest.Calls{span(0, 0), span(50, 51)}, 1},
	} {
		assert.Equal(t, c.want, c.calls.MaxInFlight(), about)
	}
}

// The fast counts agree with those that look at every pair.
func TestCountsAgainstAnOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cs := flowtest.Calls(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) flowtest.Call {
			start := rapid.IntRange(0, 30).Draw(t, "start")
			took := rapid.IntRange(1, 10).Draw(t, "took")
			return flowtest.Call{Start: time.Duration(start), End: time.Duration(start + took), Outcome: flowtest.Answered}
		}), 0, 30).Draw(t, "calls"))
		per := time.Duration(rapid.IntRange(1, 12).Draw(t, "per"))

		inSpan, inFlight := 0, 0
		for moment := range time.Duration(50) {
			span, flying := 0, 0
			for _, c := range cs {
				if c.Start > moment-per && c.Start <= moment {
					span++
				}
				if c.Start <= moment && moment < c.End {
					flying++
				}
			}
			inSpan, inFlight = max(inSpan, span), max(inFlight, flying)
		}
		require.Equal(t, inSpan, cs.MaxIn(per))
		require.Equal(t, inFlight, cs.MaxInFlight())
		require.NoError(t, cs.AtMost(inSpan, per))
		require.NoError(t, cs.AtMostInFlight(inFlight))
		if len(cs) > 0 {
			require.Error(t, cs.AtMost(inSpan-1, per))
			require.Error(t, cs.AtMostInFlight(inFlight-1))
		}
	})
}

func TestSelections(t *testing.T) {
	cs := at(1, 2, 4, 7)
	cs[3].Key, cs[3].Outcome = "k1", flowtest.Refused
	assert.Equal(t, []string{"k0", "k1", "k2"}, cs.Keys())
	assert.Equal(t, flowtest.Calls{cs[1], cs[3]}, cs.Of("k1"))
	assert.Equal(t, flowtest.Calls{cs[3]}, cs.With(flowtest.Refused))
	assert.Equal(t, flowtest.Calls{cs[1], cs[2]}, cs.Between(2*sec, 7*sec))
}

func TestQuiet(t *testing.T) {
	cs := at(1, 5, 9)
	require.NoError(t, cs.Quiet(5*sec, 9*sec), "neither end is in")
	require.NoError(t, cs.Quiet(9*sec, 99*sec))
	require.EqualError(t, cs.Quiet(5*sec-1, 9*sec+1), "flowtest: 2 calls between +4.999999999s and +9.000000001s, none should be\n"+
		"+5s  call api k1: ok\n+9s  call api k2: ok\n")
}

func TestAtMostShowsTheSpan(t *testing.T) {
	require.EqualError(t, at(1, 20, 22, 23, 40).AtMost(2, 10*sec), "flowtest: 3 calls within 10s, at most 2 should be\n"+
		"+20s  call api k1: ok\n+22s  call api k2: ok\n+23s  call api k3: ok\n")
	require.NoError(t, at(1, 20, 22, 23, 40).AtMost(3, 10*sec))
}

func TestAtMostInFlightShowsTheCalls(t *testing.T) {
	cs := at(1, 1)
	cs[0].Outcome = flowtest.Running
	require.EqualError(t, cs.AtMostInFlight(1), "flowtest: 2 calls in flight, at most 1 should be\n"+
		"+1s  call api k0: running\n+1s  call api k1: ok\n")
}

func TestHeedRetryAfter(t *testing.T) {
	calls := func() flowtest.Calls {
		cs := at(1, 1, 21)
		cs[0].Outcome, cs[0].RetryAfter = flowtest.Refused, 20*sec
		return cs
	}
	require.NoError(t, calls().HeedRetryAfter(), "a call of the same instant, and one that waited")
	early := calls()
	early[2].Start = 21*sec - 1
	require.ErrorContains(t, early.HeedRetryAfter(), "after a refusal at +1s: call api k0: refused, retry after 20s")
	other := early
	other[2].Provider = "another"
	require.NoError(t, other.HeedRetryAfter(), "of another provider")
	silent := calls()
	silent[0].RetryAfter, silent[2].Start = 0, 2*sec
	require.NoError(t, silent.HeedRetryAfter(), "it did not say")
	twice := append(calls(), calls()...)
	twice[5].Start = 3 * sec
	require.ErrorContains(t, twice.HeedRetryAfter(), "call api k2")
}

func TestOnceEach(t *testing.T) {
	cs := at(1, 2, 3, 4)
	cs[1].Outcome = flowtest.Refused
	cs[3].Key = "k2"
	require.EqualError(t, cs.OnceEach("k1", "k2", "k2", "k9"), "flowtest: never answered: k1, k9; answered again: k2 (2 times); not expected: k0\n"+
		"+1s  call api k0: ok\n+2s  call api k1: refused\n+3s  call api k2: ok\n+4s  call api k2: ok\n")
	cs[3].Key = "k1"
	require.NoError(t, cs.OnceEach("k2", "k1", "k0"))
	require.NoError(t, flowtest.Calls(nil).OnceEach())
}
