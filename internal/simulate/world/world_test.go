package world_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/simulate/world"
)

func TestTheClockLeaps(t *testing.T) {
	var q world.Queue[string]
	q.At(3*time.Second, "late")
	q.At(time.Second, "early")
	q.At(time.Second, "just after")

	next := func(until time.Duration) string {
		e, _ := q.Next(until)
		return e
	}
	assert.Empty(t, next(999*time.Millisecond))
	assert.Equal(t, "early", next(time.Second))
	assert.Equal(t, time.Second, q.Now())
	q.At(0, "overdue")
	assert.Equal(t, "just after", next(time.Hour))
	assert.Equal(t, "overdue", next(time.Hour))
	assert.Equal(t, time.Second, q.Now(), "never back")
	assert.Equal(t, "late", next(3*time.Second))
	assert.Equal(t, 3*time.Second, q.Now())
	_, ok := q.Next(time.Hour)
	assert.False(t, ok)
	assert.Zero(t, q.Len())
}

// The queue is what a stable sort by time would be.
func TestQueueIsAStableSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type thing struct {
			at time.Duration
			id int
		}
		var q world.Queue[thing]
		var pending []thing
		for id, op := range rapid.SliceOf(rapid.IntRange(-1, 20)).Draw(t, "ops") {
			if op >= 0 {
				e := thing{max(q.Now(), time.Duration(op)), id}
				q.At(time.Duration(op), e)
				pending = append(pending, e)
				continue
			}
			slices.SortStableFunc(pending, func(a, b thing) int { return cmp.Compare(a.at, b.at) })
			got, ok := q.Next(10)
			if want := len(pending) > 0 && pending[0].at <= 10; ok != want {
				t.Fatalf("something happened: %v, of %v", ok, pending)
			}
			if ok {
				if got != pending[0] || q.Now() != got.at {
					t.Fatalf("%v happened at %d, want %v", got, q.Now(), pending[0])
				}
				pending = pending[1:]
			}
		}
		if q.Len() != len(pending) {
			t.Fatalf("%d pending, want %d", q.Len(), len(pending))
		}
	})
}

func TestChance(t *testing.T) {
	const n = 200_000
	a, b, other := world.NewChance(7, 1), world.NewChance(7, 1), world.NewChance(7, 2)
	var sum, logs float64
	same := 0
	for range n {
		x := a.LogNormal(3, 0.6)
		assert.Equal(t, x, b.LogNormal(3, 0.6))
		if x == other.LogNormal(3, 0.6) {
			same++
		}
		sum += x
	}
	assert.InDelta(t, 3, sum/n, 0.03, "the mean, not the median")
	assert.Zero(t, same)
	for range n {
		x := a.LogUniform(0.5, 50)
		assert.True(t, x >= 0.5 && x < 50)
		logs += math.Log(x)
	}
	assert.InDelta(t, math.Log(5), logs/n, 0.02, "the middle is the geometric one")
}
