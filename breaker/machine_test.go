package breaker

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMachine plays scripts. A word of these letters is a row of steps:
//
//	a  one more call is admitted
//	s f u x  the oldest call under way ends: success, failure, undecided, nonsense
//	S F U  the youngest one does
//	R  reset
//
// And the other words:
//
//	r<wait>  a call is refused, with this wait
//	+<time>  time passes
//	closed, open, half-open  the state
func TestMachine(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config Config
		script string
	}{
		{"opens at the fifth failure", Config{}, "a f a f a f a f closed a f open r10s"},
		{"a success in between starts the count anew", Config{}, "a f a f a f a f a s a f a f a f a f closed a f open"},
		{"undecided changes no count", Config{}, "a f a f a f a f a u closed a f open"},
		{"calls that overlap count as they end", Config{}, "aaaaaa fff closed FF open s open"},
		{"the time left is exact", Config{Failures: 1}, "a f r10s +3s r7s +6999999999ns r1ns open +1ns half-open a half-open"},
		{"two probes close it, one at a time", Config{Failures: 1}, "a f +10s a r1s s half-open a r1s s closed aaa"},
		{"probes at once, bounded", Config{Failures: 1, Probes: 3}, "a f +10s aaa r1s s a r1s s closed aa"},
		{"a failed probe doubles, up to MaxOpen", Config{Failures: 1}, "a f +10s a f r20s +20s a f r40s +40s a f r60s +60s a f r60s open"},
		{"a failure after a success among the probes opens", Config{Failures: 1}, "a f +10s a s a f r20s"},
		{"successes count anew after it", Config{Failures: 1}, "a f +10s a s a f +20s a s half-open a s closed"},
		{"closing forgets the doubling", Config{Failures: 1}, "a f +10s a f r20s +20s a s a s closed a f r10s"},
		{"closing forgets the failures", Config{Failures: 2}, "a f a f +10s a s a s closed a f closed a f open"},
		{"an undecided probe gives its place back", Config{Failures: 1}, "a f +10s a r1s u half-open a r1s s a s closed"},
		{"an undecided probe takes no success away", Config{Failures: 1}, "a f +10s a s a u a s closed"},
		{"a late failure does not open what a probe is trying", Config{Failures: 1}, "aa F +10s a f half-open r1s s a s closed"},
		{"a late failure does not double", Config{Failures: 1}, "aa F r10s f r10s +10s half-open"},
		{"a late failure does not open what was closed again", Config{Failures: 1}, "aa F +10s a S a S closed f closed"},
		{"a late success closes nothing", Config{Failures: 1}, "aaa F s open r10s +10s a s half-open s half-open a s closed"},
		{"a late success frees no probe", Config{Failures: 1}, "aa F +10s a s r1s"},
		{"a late failure of a probe neither doubles again nor holds a place", Config{Failures: 1, Probes: 2}, "a f +10s aa f r20s f r20s +20s aa r1s"},
		{"a probe that hangs keeps its place", Config{Failures: 1}, "a f +10s a +1h r1s s a +1h f r20s"},
		{"reset closes", Config{Failures: 1}, "a f open R closed a f r10s"},
		{"reset forgets failures", Config{Failures: 2}, "a f R a f closed a f open"},
		{"reset forgets the doubling", Config{Failures: 1}, "a f +10s a f R a f r10s"},
		{"calls from before a reset have no say", Config{Failures: 1}, "a R f closed"},
		{"MaxOpen that is no doubling", Config{Failures: 1, Open: 3 * time.Second, MaxOpen: 7 * time.Second}, "a f r3s +3s a f r6s +6s a f r7s"},
		{"MaxOpen as Open", Config{Failures: 1, Open: 3 * time.Second, MaxOpen: 3 * time.Second}, "a f r3s +3s a f r3s"},
		{"half of MaxOpen", Config{Failures: 1, Open: 5 * time.Second, MaxOpen: 10 * time.Second}, "a f +5s a f r10s +10s a f r10s"},
		{"Successes 1", Config{Failures: 1, Successes: 1}, "a f +10s a s closed"},
		{"an open time too short to divide", Config{Failures: 1, Open: 5}, "a f +5ns a r1ns"},
		{"for ever", Config{Failures: 1, Open: math.MaxInt64}, "+1h a f r2562046h47m16.854775807s open"},
		{"an outcome that there is not", Config{Failures: 1}, "a x closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &player{m: newMachine(tc.config.withDefaults())}
			for i, word := range strings.Fields(tc.script) {
				p.play(t, word, "word %d of %q", i+1, tc.script)
			}
		})
	}
}

type player struct {
	m     machine
	now   instant
	calls []uint64 // the phases of those under way
}

func (p *player) play(t *testing.T, word, msg string, args ...any) {
	t.Helper()
	switch {
	case word == "closed" || word == "open" || word == "half-open":
		assert.Equalf(t, word, p.m.at(p.now).String(), msg, args...)
	case word[0] == '+' || word[0] == 'r':
		d, err := time.ParseDuration(word[1:])
		require.NoError(t, err)
		if word[0] == '+' {
			p.now += d
		} else {
			assert.Equalf(t, d, p.m.admit(p.now), msg, args...)
		}
	default:
		for _, step := range word {
			p.step(t, step, msg, args...)
		}
	}
}

func (p *player) step(t *testing.T, step rune, msg string, args ...any) {
	t.Helper()
	switch step {
	case 'a':
		assert.Zerof(t, p.m.admit(p.now), msg, args...)
		p.calls = append(p.calls, p.m.phase)
	case 'R':
		p.m.reset()
	default:
		i := 0
		if unicode.IsUpper(step) {
			i = len(p.calls) - 1
		}
		p.m.end(p.now, p.calls[i], map[rune]Outcome{'s': Success, 'f': Failure, 'u': Undecided, 'x': 77}[unicode.ToLower(step)], false)
		p.calls = append(p.calls[:i], p.calls[i+1:]...)
	}
}

// Asking changes nothing, whatever the state.
func TestMachineLooksWithoutTouching(t *testing.T) {
	m := newMachine(Config{Failures: 1}.withDefaults())
	m.admit(0)
	m.end(0, m.phase, Failure, false)
	before := m
	for _, now := range []instant{0, 5 * time.Second, 10 * time.Second, time.Hour} {
		_, _ = m.at(now), m.wait(now)
	}
	assert.Equal(t, before, m)
}

func TestMachineRemembers(t *testing.T) {
	m := newMachine(Config{Failures: 2}.withDefaults())
	check := func(until instant) {
		t.Helper()
		assert.True(t, m.remembers(until-1))
		assert.False(t, m.remembers(until))
	}
	assert.False(t, m.remembers(0), "nothing was counted")
	begin, open := 3*time.Hour, 10*time.Second
	for range 2 {
		m.admit(begin)
	}
	m.end(begin, 0, Failure, false)
	check(begin + time.Hour)
	m.end(begin, 0, Failure, false)
	check(begin + open + time.Hour)
	m.admit(begin + open)
	check(begin + open + time.Hour)
	m.end(begin+open, m.phase, Success, false)
	m.admit(begin + open)
	m.end(begin+open, m.phase, Success, false)
	assert.False(t, m.remembers(begin+open), "it is closed")
	m.trip(begin, math.MaxInt64)
	assert.True(t, m.remembers(math.MaxInt64), "it is open for ever")
}
