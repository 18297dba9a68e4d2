package envoy

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/throttle"
)

func TestRefundsForgetTheOldestTickets(t *testing.T) {
	var r refunds
	add := func(key string, n int64) {
		r.add(quota.Ticket{ID: "x"}, quota.Demand{Key: key, Cost: throttle.Cost{Points: n}})
	}
	for i := range 3 * mostTickets {
		add(strconv.Itoa(i/2), 1)
		if i%1000 == 0 {
			r.part(strconv.Itoa(i/2), 1)
		}
	}
	held := 0
	for key, all := range r.byKey {
		assert.NotEmpty(t, all, key)
		held += len(all)
	}
	assert.Len(t, r.ring, mostTickets)
	assert.LessOrEqual(t, held, mostTickets)
	assert.Greater(t, held, mostTickets-100)
	_, n := r.part("0", 9)
	assert.Zero(t, n)
	for _, want := range []int64{1, 1, 0} {
		_, n = r.part(strconv.Itoa(3*mostTickets/2-1), 9)
		assert.Equal(t, want, n)
	}
	for key := range r.byKey {
		for n := int64(1); n > 0; {
			_, n = r.part(key, 1)
		}
	}
	assert.Empty(t, r.byKey)
}
