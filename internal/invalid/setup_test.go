package invalid_test

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

func setup() *invalid.Setup {
	var s invalid.Setup
	s.Init("node")
	return &s
}

func TestSetupCollectsProblems(t *testing.T) {
	s := setup()
	changed := false
	s.Change("A", func() {
		changed = true
		s.Addf("A", "is bad")
	})
	assert.True(t, changed)
	assert.EqualError(t, s.Err(), "node: A: is bad")
	assert.EqualError(t, s.Use(s.Err), "node: A: is bad")
	assert.EqualError(t, s.Err(), "node: A: is bad", "it stays bad")
}

func TestSetupOfAZeroValue(t *testing.T) {
	var s invalid.Setup
	assert.ErrorContains(t, s.Use(s.Err), "use the constructor")
	assert.ErrorAs(t, s.Err(), new(*fault.FieldError))
}

func TestSetupIsFrozenByTheFirstUse(t *testing.T) {
	s := setup()
	require.NoError(t, s.Use(s.Err))
	s.Change("A", func() { t.Error("it changed a frozen setting") })
	assert.ErrorContains(t, s.Use(s.Err), "node: A: it was set after the first run")
	assert.ErrorContains(t, s.Err(), "node: A: it was set after the first run")
}

// Later uses look at one word, which a change that was refused resets.
func TestSetupOfManyUses(t *testing.T) {
	s := setup()
	for range 3 {
		require.NoError(t, s.Use(s.Err))
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = s.Use(nil) }))
	s.Change("A", func() { t.Error("it changed a frozen setting") })
	for range 3 {
		assert.ErrorContains(t, s.Use(s.Err), "node: A: it was set after the first run")
	}
}

func TestSetupAsksOnceAndEverybodyGetsTheVerdict(t *testing.T) {
	s := setup()
	var asked atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			assert.ErrorIs(t, s.Use(func() error {
				asked.Add(1)
				return io.EOF
			}), io.EOF)
		})
	}
	wg.Wait()
	assert.Equal(t, int64(1), asked.Load())
}

// Under the race detector: a change and the first use do not overlap.
func TestSetupChangesEndBeforeTheFirstUse(t *testing.T) {
	for range 100 {
		s := setup()
		setting := 0
		var wg sync.WaitGroup
		wg.Go(func() { s.Change("A", func() { setting++ }) })
		wg.Go(func() {
			_ = s.Use(func() error { return nil })
			_ = setting
		})
		wg.Wait()
	}
}

func TestAddPartNamesThePartOfEveryProblem(t *testing.T) {
	p := invalid.Problems{Owner: "node"}
	p.AddPart("WithLimits", nil)
	require.NoError(t, p.Err())
	p.AddPart("WithLimits", errors.Join(errors.New("a"), errors.New("b")))
	assert.EqualError(t, p.Err(), "node: WithLimits: a\nnode: WithLimits: b")
}

func TestNil(t *testing.T) {
	var p *int
	var f func()
	for _, x := range []any{nil, p, f, map[string]int(nil), []int(nil), (chan int)(nil)} {
		assert.True(t, invalid.Nil(x), "%T", x)
	}
	for _, x := range []any{0, "", struct{}{}, new(int), []int{}} {
		assert.False(t, invalid.Nil(x), "%T", x)
	}
}
