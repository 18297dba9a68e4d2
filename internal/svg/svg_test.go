package svg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/svg"
)

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 1.25: "1.3", -0.04: "-0", 1234.06: "1234.1"} {
		assert.Equal(t, want, svg.Short(v))
	}
}

func TestEscape(t *testing.T) {
	assert.Equal(t, "a &lt;b&gt; &amp; &#34;c&#34; \ufffd", svg.Escape("a <b> & \"c\" \x00"))
}

func TestCeil(t *testing.T) {
	for v, want := range map[float64]float64{1: 1, 1.5: 2, 3: 5, 5: 5, 7: 10, 0.03: 0.05, 45: 50, 4500: 5000} {
		assert.InDelta(t, want, svg.Ceil(v, 1, 2, 5), 1e-9, "%v", v)
	}
	for v, want := range map[float64]float64{1: 1, 1.2: 2, 3: 4, 4.1: 10, 10: 10, 37: 40, 401: 1000} {
		assert.InDelta(t, want, svg.Ceil(v, 1, 2, 4), 1e-9, "%v", v)
	}
}
