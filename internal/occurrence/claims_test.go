package occurrence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/occurrence"
)

func TestTheLastRunReleasesItsPart(t *testing.T) {
	claims := occurrence.ClaimsOf(t.Context())
	var did []string
	take := func(key string) *occurrence.Claim {
		c, err := claims.Take(t.Context(), key, func() error { did = append(did, "open "+key); return nil })
		require.NoError(t, err)
		return c
	}
	release := func() { did = append(did, "release") }
	first, second := take("a"), take("a")
	assert.True(t, first.Shared())
	other := take("b")
	assert.False(t, other.Shared())
	first.Give(release)
	assert.True(t, second.Shared(), "for as long as it is taken")
	other.Give(release)
	assert.Equal(t, []string{"open a", "open a", "open b", "release"}, did)
	second.Give(release)
	assert.Len(t, did, 5)
	assert.False(t, take("a").Shared(), "it is a new claim")
}

func TestAPartThatDoesNotOpenIsNotTaken(t *testing.T) {
	claims := occurrence.ClaimsOf(t.Context())
	why := errors.New("why")
	_, err := claims.Take(t.Context(), "a", func() error { return why })
	require.ErrorIs(t, err, why)
	claim, err := claims.Take(t.Context(), "a", func() error { return nil })
	require.NoError(t, err)
	assert.False(t, claim.Shared())
	released := false
	claim.Give(func() { released = true })
	assert.True(t, released)
}

func TestWaitingForAPartEndsWithTheContext(t *testing.T) {
	claims := occurrence.ClaimsOf(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := claims.Take(t.Context(), "a", func() error {
		cancel()
		_, err := claims.Take(ctx, "a", func() error { return nil })
		require.ErrorIs(t, err, context.Canceled)
		return nil
	})
	require.NoError(t, err)
}

func TestRunsInsideEachOtherAreOfOneOwner(t *testing.T) {
	scope, end := occurrence.With(t.Context())
	defer end()
	claims := occurrence.ClaimsOf(scope)
	assert.NotEqual(t, claims.ID, occurrence.ClaimsOf(t.Context()).ID, "without a scope each run is alone")
	attempt, _ := occurrence.Attempt(scope)
	assert.Same(t, claims, occurrence.ClaimsOf(attempt))
	inner, endInner := open(attempt, t, "a").Inside(attempt, "item", 0)
	defer endInner()
	assert.Same(t, claims, occurrence.ClaimsOf(inner))

	lone := occurrence.ClaimsOf(t.Context())
	p, err := occurrence.Open(t.Context(), occurrence.Request{Name: name("a"), Claims: lone})
	require.NoError(t, err)
	inner, endInner = p.Inside(t.Context(), "item", 0)
	defer endInner()
	assert.Same(t, lone, occurrence.ClaimsOf(inner))
}
