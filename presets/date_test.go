package presets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestADateThatHasNotComeIsWrong(t *testing.T) {
	at := func(s string) time.Time {
		d, _, ok := parseDate(s)
		require.True(t, ok)
		return d
	}
	parse := func(compiled, asOf string, now time.Time) error {
		c := checker{latest: latest(now), text: `{"sources": {"s": {"title": "t"}}, ` + compiled +
			`"presets": [{"id": "a/b", "rpm": 5, "source": "s", "as_of": "` + asOf + `", "confidence": "high"}]}`}
		_, err := c.table()
		return err
	}
	now := at("2027-03-01")
	require.NoError(t, parse("", "2027-03-02", now), "somewhere it is tomorrow")
	require.NoError(t, parse("", "2027", now))
	require.ErrorContains(t, parse("", "2027-03-03", now), "as_of: 2027-03-03 has not come yet")
	require.ErrorContains(t, parse("", "2999-01-01", now), "row 1 (a/b): as_of: 2999-01-01 has not come yet")
	require.ErrorContains(t, parse(`"compiled": "2999-01-01", `, "2026", now), "compiled: 2999-01-01 has not come yet")
	require.NoError(t, parse("", "2999-01-01", at("2000")), "a clock that is behind the table is a test's, or wrong")
	require.ErrorContains(t, parse(`"compiled": "2026-05-01", `, "2026-05-02", at("2000")), "is after the date of the file, 2026-05-01")

	c := checker{latest: latest(now)}
	c.profile(1, Profile{ID: "a/b", Kind: KindInfo, AsOf: at("2999-01-01")})
	require.ErrorContains(t, c.err(), "presets: row 1 (a/b): AsOf: 2999-01-01 has not come yet")
	_, err := New(Profile{ID: "a/b", Kind: KindInfo, AsOf: at("2026-01-01")})
	require.NoError(t, err)
}
