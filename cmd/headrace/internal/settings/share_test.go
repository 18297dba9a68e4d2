package settings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"sqlite:limits.db":        "sqlite:limits.db",
		"redis://":                "redis://",
		"redis://h:6379/0":        "redis://h:6379/0",
		"redis://u@h":             "redis://u@h",
		"rediss://u:secret@h/0?x": "rediss://u:xxxxx@h/0?x",
		"redis://u:sec ret@h/0":   "redis://...",
		"redis://u:sec/ret@h":     "redis://...",
		"redis://u:sec#ret@h":     "redis://...",
		"redis://sec/ret@h":       "redis://...",
	} {
		assert.Equal(t, want, settings.WithoutPassword(address), address)
	}
}
