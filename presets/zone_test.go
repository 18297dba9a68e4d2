package presets

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/throttle"
)

// A machine without a database of time zones reads the table too.
func TestTheTableNeedsNoZoneDatabase(t *testing.T) {
	none := func(string) (*time.Location, error) { return nil, errors.New("no database") }
	loc := zone("America/Los_Angeles", none)
	require.NotNil(t, loc)
	w := throttle.Fixed(20, day, time.Date(2024, 1, 1, 0, 0, 0, 0, loc))
	assert.Equal(t, "fixed 20/day@2024-01-01T00:00:00-08:00", w.String())
	text, err := w.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, w.String(), string(text))

	assert.Nil(t, zone("Asia/Tokyo", none))
	for _, r := range mustRead(t).rows {
		if reset, ok := r.texts["reset"]; ok {
			assert.Contains(t, []string{"midnight America/Los_Angeles", "midnight UTC"}, reset, "%s: give zone an offset for it", r.id)
		}
	}
}

func mustRead(t *testing.T) file {
	t.Helper()
	c := checker{data: facts}
	f, ok := c.read()
	require.True(t, ok)
	require.NoError(t, c.err())
	return f
}

// Every source is read by somebody or kept on purpose, and every row has one.
func TestEverySourceHasAnAddressButTheConvention(t *testing.T) {
	for name, s := range mustRead(t).sources {
		assert.NotEmpty(t, s.Title)
		assert.Equal(t, name == "conv", s.URL == "", "%s", name)
	}
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "ac", 1},
		{"ac", "abc", 1},
		{"tier1", "teir1", 1},
		{"kitten", "sitting", 3},
	} {
		assert.Equal(t, tc.want, edits(tc.a, tc.b), "%s %s", tc.a, tc.b)
		assert.Equal(t, tc.want, edits(tc.b, tc.a), "%s %s", tc.b, tc.a)
	}
}
