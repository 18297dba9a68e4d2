package reopening_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/reopening"
)

const day = 24 * time.Hour

func at(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }

// refusedFor closes a key at 0 for that long.
func refusedFor(asked time.Duration) *reopening.Closure {
	var c reopening.Closure
	c.Refused(at(0), 1, asked)
	return &c
}

func TestLooksBecomeRarer(t *testing.T) {
	c := refusedFor(day)
	var looks []time.Duration
	for seq := range int64(9) {
		look := c.Until()
		looks = append(looks, look.Sub(at(0)))
		assert.Zero(t, c.Looking(look))
		c.Sent(look, seq+2)
		assert.Equal(t, time.Minute, c.Looking(look))
		c.Refused(look, seq+2, day)
	}
	assert.Equal(t, []time.Duration{
		time.Minute, 3 * time.Minute, 7 * time.Minute, 15 * time.Minute, 31 * time.Minute, 63 * time.Minute,
		123 * time.Minute, 183 * time.Minute, 243 * time.Minute,
	}, looks)
}

func TestALookIsNotLaterThanTheWaitThatWasAskedFor(t *testing.T) {
	assert.Equal(t, at(20*time.Second), refusedFor(20*time.Second).Until())
	assert.Equal(t, at(time.Minute), refusedFor(0).Until(), "it does not say")
}

func TestWhatALookFinds(t *testing.T) {
	for name, c := range map[string]struct {
		ended           func(*reopening.Closure)
		looking, closed bool
	}{
		"it gets through":           {func(c *reopening.Closure) { c.Passed(at(time.Minute), 2) }, false, false},
		"it is refused for a while": {func(c *reopening.Closure) { c.Answered(at(time.Minute), 2, 0) }, false, false},
		"it tells nothing":          {func(c *reopening.Closure) { c.Lost(2) }, false, true},
		"it is refused":             {func(c *reopening.Closure) { c.Refused(at(time.Minute), 2, day) }, false, true},
		"another gets through":      {func(c *reopening.Closure) { c.Passed(at(time.Minute), 1) }, true, true},
		"another is refused":        {func(c *reopening.Closure) { c.Refused(at(time.Second), 1, day) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			closure := refusedFor(day)
			closure.Sent(at(time.Minute), 2)
			closure.Sent(at(time.Minute), 3)
			c.ended(closure)
			assert.Equal(t, c.looking, closure.Looking(at(time.Minute)) > 0)
			assert.Equal(t, c.closed, closure.Closed())
		})
	}
}

// The times of a provider that were wrong are used again when it is shut.
func TestATimeThatWasNotTrueIsDoubted(t *testing.T) {
	c := refusedFor(day)
	assert.False(t, c.Doubts(at(0)))
	c.Sent(at(time.Minute), 2)
	c.Passed(at(time.Minute), 2)
	assert.True(t, c.Doubts(at(time.Hour)), "whenever that is")
	c.Answered(at(time.Hour), 8, 0)
	assert.True(t, c.Doubts(at(time.Hour+59*time.Second)))
	c.Passed(at(time.Hour+59*time.Second), 9)
	assert.True(t, c.Doubts(at(time.Hour+time.Minute)), "something got through")
	c.Answered(at(time.Hour+time.Minute), 10, 0)
	assert.True(t, c.Doubts(at(time.Hour+119*time.Second)))
	assert.False(t, c.Doubts(at(time.Hour+2*time.Minute)))
	assert.False(t, c.Doubts(at(time.Hour+2*time.Minute)))
}

func TestATimeThatWasOverIsNotDoubted(t *testing.T) {
	for name, ended := range map[string]func(*reopening.Closure){
		"it was over":               func(c *reopening.Closure) { c.Passed(at(time.Minute), 2) },
		"it is refused for a while": func(c *reopening.Closure) { c.Answered(at(time.Minute), 2, 0) },
	} {
		c := refusedFor(time.Minute)
		c.Sent(at(time.Minute), 2)
		ended(c)
		assert.False(t, c.Closed(), name)
		assert.False(t, c.Doubts(at(time.Minute)), name)
	}
}

func TestAClosureIsForgottenWhenNobodyLooks(t *testing.T) {
	c := refusedFor(day)
	assert.True(t, c.Known(at(time.Hour)))
	assert.False(t, c.Known(at(time.Hour+time.Minute)))
	assert.False(t, new(reopening.Closure).Known(at(0)))
}

func TestSilenceLastsUntilACallGetsThrough(t *testing.T) {
	var c reopening.Closure
	assert.Zero(t, c.Silent(at(time.Hour)))
	c.Answered(at(0), 1, 0)
	c.Answered(at(time.Second), 2, 0)
	c.Refused(at(2*time.Second), 3, day)
	assert.Equal(t, time.Minute, c.Silent(at(time.Minute)))
	c.Passed(at(time.Minute), 4)
	assert.Zero(t, c.Silent(at(time.Hour)))
}

func TestSilenceEndsWhenNoCallIsMade(t *testing.T) {
	var c reopening.Closure
	c.Answered(at(0), 1, 0)
	assert.Equal(t, 15*time.Minute, c.Silent(at(15*time.Minute)))
	assert.Zero(t, c.Silent(at(16*time.Minute)))
	c.Answered(at(20*time.Minute), 2, 0)
	assert.Equal(t, time.Minute, c.Silent(at(21*time.Minute)))

	closed := refusedFor(day)
	assert.Equal(t, 16*time.Minute, closed.Silent(at(16*time.Minute)), "the look was due a minute later")
	assert.Zero(t, closed.Silent(at(17*time.Minute)))
	closed.Sent(at(time.Hour), 2)
	assert.Zero(t, closed.Silent(at(time.Hour)))
}

// heard closes a key at 0 for a day, has the call 2 look after a minute, and returns it.
func heard(found reopening.Verdict, asked time.Duration) *reopening.Closure {
	c := refusedFor(day)
	c.Sent(at(time.Minute), 2)
	c.Heard(at(time.Minute), 2, found, asked, 15*time.Minute)
	return c
}

// Silence closes a key, but not before the long wait is over that was asked for last.
func TestWhenSilenceCloses(t *testing.T) {
	for name, x := range map[string]struct {
		c     *reopening.Closure
		after time.Duration // the first refusal that closes the key
	}{
		"no wait was asked for":                    {new(reopening.Closure), 15 * time.Minute},
		"a look is refused for a while":            {heard(reopening.Refused, 0), 15 * time.Minute},
		"a look is asked to wait for five minutes": {heard(reopening.Refused, 5*time.Minute), 20 * time.Minute},
		"a look gets through":                      {heard(reopening.Passed, 0), 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			began := at(time.Minute)
			for after := time.Duration(0); after < x.after; after += time.Minute {
				_, n := x.c.Heard(began.Add(after), 9, reopening.Refused, 0, 15*time.Minute)
				assert.False(t, n.Silent || n.Closed, after)
			}
			_, n := x.c.Heard(began.Add(x.after), 9, reopening.Refused, 0, 15*time.Minute)
			assert.Equal(t, reopening.News{Closed: true, Silent: true}, n)
		})
	}
}

// A closure for another reason than a wait shows nothing about waits.
func TestAUsedUpQuotaLeavesTheDoubt(t *testing.T) {
	c := heard(reopening.Passed, 0)
	c.Heard(at(time.Hour), 3, reopening.Exhausted, 0, 0)
	c.Sent(at(time.Hour+time.Minute), 4)
	_, n := c.Heard(at(time.Hour+time.Minute), 4, reopening.Passed, 0, 0)
	assert.Equal(t, reopening.News{Reopened: true}, n)
	believed, n := c.Heard(at(time.Hour+2*time.Minute), 5, reopening.Refused, day, 0)
	assert.Zero(t, believed)
	assert.Zero(t, n)
}

func TestTheTextOfAWait(t *testing.T) {
	for d, want := range map[time.Duration]string{
		300 * time.Millisecond:            "300ms",
		2*time.Hour - 57_200_001:          "2h0m0s",
		2 * day:                           "48h0m0s",
		2*day + 1:                         "3 days",
		365 * day:                         "365 days",
		638956*time.Hour + 942_830_782:    "26624 days",
		reopening.MostAsked:               "36500 days or longer",
		reopening.MostAsked + time.Hour:   "36500 days or longer",
		reopening.MostAsked - time.Second: "36500 days",
	} {
		assert.Equal(t, want, reopening.Asked(d), d)
	}
}
