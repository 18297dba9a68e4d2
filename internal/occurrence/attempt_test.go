package occurrence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/occurrence"
)

func TestWithoutAScopeAnAttemptIsNothing(t *testing.T) {
	ctx, book := occurrence.Attempt(t.Context())
	assert.Equal(t, t.Context(), ctx)
	assert.Nil(t, book)
	book.Keep()
}

// Nearly all attempts have nothing to count.
func TestAllocationsOfAnAttempt(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		_, book := occurrence.Attempt(ctx)
		book.Keep()
	}), 1.0)
}

func TestAnAttemptIsOfItsScope(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	p, err := occurrence.Open(ctx, request(ctx, "a", 5, false))
	require.NoError(t, err)
	p.Found()
	at := func(mark string) occurrence.Output { return occurrence.Output{Mark: mark, Lacks: 1} }
	p.SetOutput(at("before"))
	p.Close(nil)
	attempt, book := occurrence.Attempt(ctx)
	p, err = occurrence.Open(attempt, request(attempt, "a", 9, false))
	require.NoError(t, err)
	_, err = occurrence.Open(ctx, request(ctx, "a", 9, false))
	require.ErrorAs(t, err, new(*occurrence.BusyError), "an attempt that hangs is still at work")
	assert.Equal(t, int64(5), p.Earlier(), "when the scope began")
	assert.Equal(t, at("before"), p.Output())
	p.SetOutput(at("after"))
	assert.Equal(t, at("after"), p.Output(), "which another round of this attempt continues")
	p.Found()
	assert.Equal(t, int64(3), p.Left())
	left := int64(-1)
	p.Close(func() { left = p.Left() })

	shared, err := occurrence.Open(ctx, request(ctx, "a", 9, true))
	require.NoError(t, err)
	assert.Equal(t, at("before"), shared.Output(), "another attempt meets, and writes, the same again")
	assert.Equal(t, int64(4), shared.Left())
	book.Keep()
	book.Keep()
	assert.Equal(t, int64(3), shared.Left())
	assert.Equal(t, at("after"), shared.Output())
	require.Nil(t, shared.Turns().Take("x"))
	assert.NotNil(t, p.Turns().Take("x"), "the turns are those of all")
	end()
	assert.Equal(t, int64(3), left)
}

// Once the journal knows where the output ends, no attempt goes back behind that.
func TestAnOutputThatTheJournalKnows(t *testing.T) {
	ctx, end := occurrence.With(t.Context())
	defer end()
	open(ctx, t, "a").SetOutput(occurrence.Output{Mark: "before", Lacks: 1})
	attempt, _ := occurrence.Attempt(ctx)
	p, err := occurrence.Open(attempt, request(attempt, "b", 0, false))
	require.NoError(t, err)
	p.Close(nil)
	p, err = occurrence.Open(attempt, request(attempt, "a", 0, true))
	require.NoError(t, err)
	p.SetOutput(occurrence.Output{})
	next, _ := occurrence.Attempt(ctx)
	p, err = occurrence.Open(next, request(next, "a", 0, true))
	require.NoError(t, err)
	assert.Zero(t, p.Output())
}

// However attempts are nested, each counts as if those that were not kept had not been.
func TestAttemptsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type layer struct {
			ctx    context.Context //nolint:containedctx // each layer has its own
			book   *occurrence.Book
			counts map[string]int64
		}
		ctx, end := occurrence.With(context.Background())
		defer end()
		layers := []layer{{ctx: ctx, counts: map[string]int64{}}}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			top := &layers[len(layers)-1]
			switch rapid.SampledFrom([]string{"count", "attempt", "keep", "drop"}).Draw(t, "step") {
			case "count":
				p, err := occurrence.Open(top.ctx, request(top.ctx, "a", 0, false))
				require.NoError(t, err)
				content := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "content")
				require.Equal(t, top.counts[content], p.Next(content))
				top.counts[content]++
				p.Close(nil)
			case "attempt":
				next := layer{counts: map[string]int64{"x": top.counts["x"], "y": top.counts["y"]}}
				next.ctx, next.book = occurrence.Attempt(top.ctx)
				layers = append(layers, next)
			case "keep":
				if len(layers) > 1 {
					top.book.Keep()
					layers[len(layers)-2].counts = top.counts
					layers = layers[:len(layers)-1]
				}
			case "drop":
				if len(layers) > 1 {
					layers = layers[:len(layers)-1]
				}
			}
		}
	})
}
