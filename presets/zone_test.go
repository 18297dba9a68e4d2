package presets

import (
	"errors"
	"strings"
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
	for _, p := range Default().rows {
		for _, w := range p.Limits.Windows {
			_, anchor, fixed := strings.Cut(w.String(), "@")
			assert.True(t, !fixed || anchor == "America/Los_Angeles" || anchor == "UTC", "%s: give zone an offset for %s", p.ID, anchor)
		}
	}
}

// Every source is used or kept on purpose, and every row has one.
func TestEverySourceHasAnAddressButTheConvention(t *testing.T) {
	c := checker{text: facts}
	read := c.read()
	require.NoError(t, c.err())
	for name, s := range read.sources {
		assert.NotEmpty(t, s.Title)
		assert.Equal(t, name == "conv", s.URL == "", "%s", name)
	}
}
