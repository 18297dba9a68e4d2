package learn

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEvidenceIsNeverLessThanNone(t *testing.T) {
	var e evidence
	for _, step := range []struct {
		speaksFor bool
		want      evidence
	}{{false, 0}, {true, 1}, {true, 2}, {false, 1}, {false, 0}, {false, 0}, {true, 1}} {
		e.note(step.speaksFor)
		assert.Equal(t, step.want, e)
	}
}
