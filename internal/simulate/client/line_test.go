package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestLineIsADeque(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line
		var model []*Call
		for _, op := range rapid.SliceOf(rapid.IntRange(0, 4)).Draw(t, "ops") {
			c := &Call{}
			switch {
			case op < 2:
				l.pushFront(c)
				model = append([]*Call{c}, model...)
			case op < 4:
				l.pushBack(c)
				model = append(model, c)
			case len(model) > 0:
				assert.Same(t, model[0], l.first())
				assert.Same(t, model[0], l.pop())
				model = model[1:]
			}
			assert.Equal(t, len(model), l.len)
		}
	})
}
