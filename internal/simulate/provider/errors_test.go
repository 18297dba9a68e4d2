package provider_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/provider"
)

func luck() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestAnOutage(t *testing.T) {
	manner := provider.Manner{Status: provider.Unavailable, After: 7 * sec}
	p := provider.New(provider.Config{
		Requests: provider.Bucket{PerMinute: 60, Burst: 1}, RetryAfter: provider.Exact,
		Errors: []provider.Errors{{Manner: manner, Share: 1, From: 10 * sec, For: 5 * sec}},
	}, nil)
	assert.True(t, must(p.Arrive(9*sec, 0)).Admitted)
	a, cause := p.Arrive(9*sec+500*ms, 0)
	assert.Equal(t, provider.Answer{RetryAfter: 500 * ms}, a, "a 429 of the bucket")
	assert.Equal(t, provider.Limited, cause)
	for _, at := range []time.Duration{10 * sec, 12 * sec, 15*sec - 1} {
		assert.Equal(t, 15*sec-at, p.Wait(at, 0))
		a, cause = p.Arrive(at, 0)
		assert.Equal(t, provider.Answer{Status: provider.Unavailable, RetryAfter: 7 * sec}, a)
		assert.Equal(t, provider.Limited, cause, "waiting is the only way")
	}
	assert.Zero(t, p.Wait(15*sec, 0))
	assert.True(t, must(p.Arrive(15*sec, 0)).Admitted)
	assert.True(t, must(p.Arrive(time.Hour, 0)).Admitted, "there is one only")
}

// Some calls get through an episode that is not an outage.
func TestEpisodes(t *testing.T) {
	c := provider.Config{Errors: []provider.Errors{{
		Manner: provider.Manner{Status: provider.Full}, Share: 0.5, For: 5 * sec, Most: 20 * sec, Every: time.Minute,
	}}}
	p := provider.New(c, luck())
	var begin, end time.Duration
	var lengths, gaps []time.Duration
	for at := time.Duration(0); at < 3*time.Hour; at += 100 * ms {
		refused := 0
		for range 20 {
			if a, cause := p.Arrive(at, 0); !a.Admitted {
				refused++
				assert.Equal(t, provider.Unlucky, cause)
				assert.Equal(t, provider.Full, a.Status)
			}
		}
		assert.Zero(t, p.Wait(at, 0), "nothing to wait for")
		switch {
		case refused == 0 && begin > end:
			lengths, end = append(lengths, at-begin), at
		case refused > 0 && begin <= end:
			gaps, begin = append(gaps, at-end), at
		}
	}
	assert.InDelta(t, 3*time.Hour/(72500*ms), len(lengths), 20)
	for i, length := range lengths {
		assert.True(t, length > 5*sec-200*ms && length < 20*sec+200*ms, "an episode of %s", length)
		assert.True(t, gaps[i] > 30*sec-200*ms && gaps[i] < 90*sec+200*ms, "a pause of %s", gaps[i])
	}
}

// When episodes are depends on the seed, not on how many calls there are.
func TestEpisodesAreTheSameForEveryClient(t *testing.T) {
	c := provider.Config{Errors: []provider.Errors{{Share: 1, For: sec, Most: 9 * sec, Every: time.Minute}}}
	busy, idle := provider.New(c, luck()), provider.New(c, luck())
	for at := time.Duration(0); at < time.Hour; at += sec {
		for range 3 {
			busy.Arrive(at, 0)
		}
		assert.Equal(t, busy.Wait(at, 0), idle.Wait(at, 0))
	}
}

func TestTheLuckyMeetOutagesOnly(t *testing.T) {
	outage := provider.Errors{Share: 1, For: sec}
	c := provider.Config{Cap: 3, Errors: []provider.Errors{{Share: 0.01}, outage, {Share: 0.8, Every: sec, For: sec}}}
	assert.Equal(t, provider.Config{Cap: 3, Errors: []provider.Errors{outage}}, c.Lucky())
	assert.Len(t, c.Errors, 3, "c stays")
}

func TestWhatRejectionsLookLike(t *testing.T) {
	full := provider.Config{Overload: 1, Shed: provider.Manner{Status: provider.Unavailable, After: 2 * sec}}
	slow := provider.Config{Requests: provider.Bucket{PerMinute: 60, Burst: 1}, RetryAfter: provider.Exact}
	nginx, constant, forged := slow, slow, slow
	nginx.Status, nginx.RetryAfter = provider.Unavailable, provider.Silent
	constant.Constant = time.Minute
	forged.Constant, forged.Lie = time.Minute, 3
	capped := provider.Config{Cap: 1, Status: provider.Full}
	for about, c := range map[string]struct {
		config provider.Config
		want   provider.Answer
	}{
		"a server that sheds":          {full, provider.Answer{Status: provider.Unavailable, RetryAfter: 2 * sec}},
		"nginx":                        {nginx, provider.Answer{Status: provider.Unavailable}},
		"a cap":                        {capped, provider.Answer{Status: provider.Full}},
		"a minute, whatever the truth": {constant, provider.Answer{RetryAfter: time.Minute}},
		"multiplied too":               {forged, provider.Answer{RetryAfter: 3 * time.Minute}},
	} {
		t.Run(about, func(t *testing.T) {
			p := provider.New(c.config, nil)
			assert.Equal(t, provider.Answer{Admitted: true}, must(p.Arrive(0, 0)))
			assert.Equal(t, c.want, must(p.Arrive(0, 0)))
		})
	}
	sometimes := slow
	sometimes.RetryAfter = provider.Sometimes
	p := provider.New(sometimes, luck())
	waits := map[time.Duration]int{}
	p.Arrive(0, 0)
	for range 1000 {
		waits[must(p.Arrive(300*ms, 0)).RetryAfter]++
	}
	assert.Len(t, waits, 2)
	assert.InDelta(t, 500, waits[sec], 60)
}
