package law

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/learn"
)

func TestEveryRuleIsLeftOutTwice(t *testing.T) {
	all := Ablated()
	i := 0
	for name := range learn.AllRules() {
		assert.Equal(t, Blind+" -"+name, all[i].Name)
		assert.False(t, all[i].Headers)
		assert.Equal(t, Headers+" -"+name, all[i+1].Name)
		assert.True(t, all[i+1].Headers)
		i += 2
	}
	assert.Len(t, all, i)
	assert.Positive(t, i)
}
