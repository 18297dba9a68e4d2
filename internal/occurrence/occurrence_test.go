package occurrence_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/occurrence"
)

func name(run string) occurrence.Name { return occurrence.Name{Run: run, Node: "n"} }

// request is for a part of a run that has so many records.
func request(ctx context.Context, run string, earlier int64, shared bool) occurrence.Request {
	return occurrence.Request{Name: name(run), Earlier: earlier, Of: "code", Shared: shared, Claims: occurrence.ClaimsOf(ctx)}
}

func open(ctx context.Context, t *testing.T, run string) *occurrence.Part {
	t.Helper()
	p, err := occurrence.Open(ctx, request(ctx, run, 0, false))
	require.NoError(t, err)
	return p
}

func TestAScopeCountsOn(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	inner, endInner := occurrence.With(ctx)
	defer endInner()
	for round := range 2 {
		p := open(inner, t, "a")
		assert.Equal(t, int64(2*round), p.Next("x"))
		assert.Equal(t, int64(2*round+1), p.Next("x"))
		assert.Equal(t, int64(round), p.Next("y"))
		other := open(inner, t, "b")
		assert.Equal(t, int64(round), other.Next("x"))
		other.Close(nil)
		p.Close(nil)
	}
	for range 2 {
		assert.Zero(t, open(t.Context(), t, "a").Next("x"), "without a scope each is alone")
		around := open(ctx, t, "around")
		attempt, endAttempt := around.Inside(ctx, "item", 0)
		around.Close(nil)
		assert.Zero(t, open(attempt, t, "a").Next("x"), "an attempt meets the same again")
		endAttempt()
	}
}

func TestOneAtATime(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	p := open(ctx, t, "a")
	_, err := occurrence.Open(ctx, request(ctx, "a", 0, false))
	var busy *occurrence.BusyError
	require.ErrorAs(t, err, &busy)
	assert.Equal(t, name("a"), busy.Name)
	assert.EqualError(t, err, `node "n" of run "a" is at work twice at the same time`)
	shared, err := occurrence.Open(ctx, request(ctx, "a", 0, true))
	require.NoError(t, err)
	assert.Same(t, p, shared)
	p.Close(nil)
	open(ctx, t, "a").Close(nil)
}

func TestWhatIsLeftIsToldAtTheEndOfTheScope(t *testing.T) {
	var told []string
	tell := func(what string) func() { return func() { told = append(told, what) } }
	ctx, end := occurrence.With(t.Context())
	open(ctx, t, "a").Close(tell("first"))
	open(ctx, t, "a").Close(tell("second"))
	open(ctx, t, "b").Close(nil)
	assert.Empty(t, told)
	end()
	end()
	assert.Equal(t, []string{"second"}, told, "once")

	open(t.Context(), t, "a").Close(tell("lone"))
	assert.Equal(t, []string{"second", "lone"}, told)
}

func TestEarlierRecords(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	p, err := occurrence.Open(ctx, request(ctx, "a", 3, true))
	require.NoError(t, err)
	p.Found()
	p.SetOutput(occurrence.Output{Mark: "here", Lacks: 2})
	again, err := occurrence.Open(ctx, request(ctx, "a", 9, true))
	require.NoError(t, err)
	assert.Equal(t, int64(3), again.Earlier(), "when the scope began")
	assert.Equal(t, int64(2), again.Left())
	assert.Equal(t, occurrence.Output{Mark: "here", Lacks: 2}, again.Output())
	for range 5 {
		again.Found()
	}
	assert.Zero(t, again.Left())
}

func TestTurns(t *testing.T) {
	p := open(t.Context(), t, "a")
	mine, other := p.Turns(), p.Turns()
	require.Nil(t, mine.Take("x"))
	require.Nil(t, mine.Take("y"))
	wait := other.Take("x")
	require.NotNil(t, wait)
	require.NotNil(t, mine.Take("x"), "nor twice by the same run")
	other.Give("x") // it is not its own
	assert.Empty(t, wait)
	select {
	case <-wait:
		t.Error("the turn is not over")
	default:
	}
	mine.Give("x")
	<-wait
	require.Nil(t, other.Take("x"))
	wait = other.Take("y")
	mine.Close()
	<-wait
	require.Nil(t, other.Take("y"))
	<-mine.Take("z")
	require.Nil(t, other.Take("z"), "a run that has ended takes none")
}

func TestPaths(t *testing.T) {
	assert.Equal(t, "n", occurrence.Path(t.Context(), "n"))
	ctx, end := open(t.Context(), t, "a").Inside(t.Context(), "key", 2)
	defer end()
	assert.Equal(t, "n[key#2]/n", occurrence.Path(ctx, "n"))
	for _, content := range []string{"a]", "a[", "a#0", "a/b", strings.Repeat("x", 33)} {
		assert.Equal(t, "o["+occurrence.Of(content).String()+"#0]", occurrence.Item("o", content, 0))
	}
	long := occurrence.Item(strings.Repeat("n", 300), "key", 0)
	assert.Equal(t, occurrence.Of(strings.Repeat("n", 300)).String()+"[key#0]", long)
	assert.Len(t, occurrence.Item(strings.Repeat("n", 249), "key", 0), 256)
}

func TestBranches(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	a := occurrence.Branch(ctx, "a")
	assert.Equal(t, "a/n", occurrence.Path(a, "n"))
	assert.Equal(t, "a/b/n", occurrence.Path(occurrence.Branch(a, "b"), "n"))
	assert.NotContains(t, occurrence.Path(occurrence.Branch(ctx, "a/b"), "n"), "a/b", "it would be taken for b inside of a")
	long := occurrence.Path(occurrence.Branch(a, strings.Repeat("b", 300)), "n")
	assert.Less(t, len(long), 100)
	assert.NotEqual(t, long, occurrence.Path(occurrence.Branch(a, strings.Repeat("b", 301)), "n"))
	for round := range int64(2) {
		p := open(a, t, "r")
		assert.Equal(t, round, p.Next("x"), "a branch counts on from round to round")
		p.Close(nil)
	}
}

func TestTwoBatchesOfOneName(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	open(ctx, t, "a").Close(nil)
	r := request(ctx, "a", 0, false)
	r.Of = "other code"
	_, err := occurrence.Open(ctx, r)
	require.EqualError(t, err, `node "n" of run "a" is two batches of one name, of code and of other code, and would take results of the one for `+
		`those of the other: give each a name of its own`)
	var mixed *occurrence.MixedError
	require.ErrorAs(t, err, &mixed)
	open(ctx, t, "a").Close(nil)
}

func TestABrokenOutputStaysBrokenInItsScope(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	p := open(ctx, t, "a")
	assert.False(t, p.Counted())
	p.Next("x")
	p.Close(nil)
	attempt, _ := occurrence.Attempt(ctx)
	p = open(attempt, t, "a")
	assert.True(t, p.Counted())
	p.Break()
	p.Close(nil)
	assert.True(t, open(ctx, t, "a").Broken())
	assert.False(t, open(ctx, t, "b").Broken())
}
