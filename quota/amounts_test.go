package quota

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/throttle"
)

func TestAmountsAreThoseOfTheCost(t *testing.T) {
	for _, c := range []throttle.Cost{{}, {Requests: 3, Tokens: 4, Input: 5, Output: 6, Points: 7}, {Input: 5, Output: 6}} {
		for u, n := range amountsOf(c) {
			assert.Equal(t, c.Of(throttle.Unit(u)), n, "%+v: %s", c, throttle.Unit(u))
		}
	}
}
