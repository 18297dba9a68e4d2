package provider_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/internal/simulate/provider"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// step is a call that arrives, or departs if it says what it used.
type step struct {
	at       time.Duration
	reserved int64
	departs  bool
	used     int64
	admitted bool
	after    time.Duration // Retry-After
}

func arrives(at time.Duration, admitted bool, after time.Duration) step {
	return step{at: at, admitted: admitted, after: after}
}

func TestEveryLimit(t *testing.T) {
	bucket := provider.Config{Requests: provider.Bucket{PerMinute: 60, Burst: 2}, RetryAfter: provider.Exact}
	counting := bucket
	counting.RefusalsCount, counting.Debt = true, 1
	whole, silent, lie := bucket, bucket, bucket
	whole.RetryAfter, silent.RetryAfter, lie.Lie = provider.WholeSeconds, provider.Silent, 0.5
	minute := provider.Config{Minute: 2, RetryAfter: provider.Exact}
	finedMinute := minute
	finedMinute.RefusalsCount = true
	for about, c := range map[string]struct {
		config provider.Config
		steps  []step
	}{
		"nothing is limited": {provider.Config{}, []step{arrives(0, true, 0), arrives(0, true, 0)}},
		"a cap lets the next in when one departs": {provider.Config{Cap: 1, RetryAfter: provider.Exact}, []step{
			arrives(0, true, 0), arrives(sec, false, 0),
			{at: sec, departs: true},
			arrives(sec, true, 0),
		}},
		"overload refuses like a cap": {provider.Config{Overload: 1}, []step{
			arrives(0, true, 0), arrives(sec, false, 0), {at: sec, departs: true}, arrives(sec, true, 0),
		}},
		"a bucket refills without a stop, up to its burst": {bucket, []step{
			arrives(0, true, 0), arrives(0, true, 0), arrives(250*ms, false, 750*ms),
			arrives(sec, true, 0), arrives(sec, false, sec),
			arrives(100*sec, true, 0), arrives(100*sec, true, 0), arrives(100*sec, false, sec),
		}},
		"refusals count, down to the debt": {counting, []step{
			arrives(0, true, 0), arrives(0, true, 0), arrives(0, false, sec),
			arrives(0, false, 2*sec), arrives(0, false, 2*sec), arrives(2*sec, true, 0),
		}},
		"whole seconds are rounded up": {whole, []step{
			arrives(0, true, 0), arrives(0, true, 0), arrives(250*ms, false, sec), arrives(0, false, sec),
		}},
		"silence": {silent, []step{arrives(0, true, 0), arrives(0, true, 0), arrives(0, false, 0)}},
		"a lie":   {lie, []step{arrives(0, true, 0), arrives(0, true, 0), arrives(0, false, 500*ms)}},
		"a minute begins with a minute": {minute, []step{
			arrives(50*sec, true, 0), arrives(50*sec, true, 0), arrives(59*sec, false, sec),
			arrives(60*sec, true, 0), arrives(61*sec, true, 0), arrives(61*sec, false, 59*sec),
			arrives(190*sec, true, 0), arrives(190*sec, true, 0), arrives(190*sec, false, 50*sec),
		}},
		"refusals count in it, which changes nothing for this minute": {finedMinute, []step{
			arrives(0, true, 0), arrives(0, true, 0), arrives(0, false, 60*sec), arrives(60*sec, true, 0),
		}},
		"a log forgets call by call": {provider.Config{Log: provider.Log{Max: 2, Per: 10 * sec}, RetryAfter: provider.Exact}, []step{
			arrives(0, true, 0), arrives(4*sec, true, 0), arrives(5*sec, false, 5*sec),
			arrives(10*sec, true, 0), arrives(10*sec, false, 4*sec), arrives(14*sec, true, 0), arrives(14*sec, false, 6*sec),
		}},
		"tokens are reserved, then settled": {
			provider.Config{Tokens: provider.Bucket{PerMinute: 600, Burst: 100}, RetryAfter: provider.Exact}, []step{
				{reserved: 80, admitted: true},
				{reserved: 80, after: 6 * sec},
				{at: sec, reserved: 80, departs: true, used: 20},
				{at: sec, reserved: 80, admitted: true},
				{at: sec, reserved: 80, after: 7 * sec},
				{at: sec, reserved: 80, departs: true, used: 90},
				{at: sec, reserved: 1, after: 100 * ms},
			},
		},
		"the longest wait is told": {
			provider.Config{Requests: bucket.Requests, Tokens: provider.Bucket{PerMinute: 600, Burst: 100}, RetryAfter: provider.Exact}, []step{
				{reserved: 10, admitted: true}, {reserved: 10, admitted: true}, {reserved: 10, after: sec}, {reserved: 100, after: 2 * sec},
			},
		},
	} {
		t.Run(about, func(t *testing.T) {
			p := provider.New(c.config, nil)
			for i, s := range c.steps {
				if s.departs {
					p.Depart(s.at, s.reserved, s.used)
					continue
				}
				a, cause := p.Arrive(s.at, s.reserved)
				assert.Equal(t, s.admitted, a.Admitted, "step %d", i)
				assert.Equal(t, s.after, a.RetryAfter, "step %d", i)
				assert.Equal(t, s.admitted, cause == provider.None, "step %d", i)
				assert.Zero(t, a.Requests, "no headers, no meters")
				assert.Zero(t, a.Limit, "nor names")
			}
		})
	}
}

func TestChanges(t *testing.T) {
	p := provider.New(provider.Config{
		Requests: provider.Bucket{PerMinute: 60, Burst: 1}, Tokens: provider.Bucket{PerMinute: 60, Burst: 1},
		Cap: 9, RetryAfter: provider.Exact,
	}, nil)
	p.Arrive(0, 1)
	p.Apply(500*ms, provider.Change{Factor: 0.25}) // half a request is in, the rest takes four times as long
	a, _ := p.Arrive(500*ms, 0)
	assert.Equal(t, 2*sec, a.RetryAfter)
	assert.Equal(t, 2*sec, p.Wait(500*ms, 1))
	p.Apply(500*ms, provider.Change{Cap: 1})
	assert.Equal(t, 2*sec, must(p.Arrive(500*ms, 0)).RetryAfter, "the rate stays")
	p.Apply(500*ms, provider.Change{Factor: 4})
	assert.Equal(t, provider.Forever, p.Wait(sec, 1), "the cap")
	p.Depart(sec, 0, 0)
	assert.Zero(t, p.Wait(sec, 1))

	p.Apply(sec, provider.Change{Become: &provider.Config{Cap: 2}})
	assert.Zero(t, p.Wait(sec, 1))
	assert.Equal(t, 2, admittedOf(p, 3), "no rate is left")
	assert.Equal(t, provider.Forever, p.Wait(sec, 1))

	m := provider.New(provider.Config{Minute: 12}, nil)
	m.Apply(0, provider.Change{Factor: 0.5})
	assert.Equal(t, 6, admittedOf(m, 20))
	m.Apply(0, provider.Change{Factor: 0.5})
	assert.Equal(t, 0, admittedOf(m, 20))
	assert.Zero(t, m.Wait(time.Minute, 0))
	assert.True(t, must(m.Arrive(time.Minute, 0)).Admitted)
	m.Apply(time.Minute, provider.Change{Factor: 0.1})
	for range 9 {
		m.Arrive(2*time.Minute, 0)
	}
	assert.Positive(t, m.Wait(2*time.Minute, 0))
	assert.Equal(t, 5, m.InFlight()-6-1, "a window never falls below five")
}

func must(a provider.Answer, _ provider.Cause) provider.Answer { return a }

func admittedOf(p *provider.Provider, calls int) (n int) {
	for range calls {
		if must(p.Arrive(0, 0)).Admitted {
			n++
		}
	}
	return n
}

func TestHeaders(t *testing.T) {
	p := provider.New(provider.Config{
		Requests: provider.Bucket{PerMinute: 600, Burst: 10}, Tokens: provider.Bucket{PerMinute: 6000, Burst: 1000},
		Cap: 2, Headers: true,
	}, nil)
	a, _ := p.Arrive(0, 100)
	assert.Equal(t, provider.Answer{
		Admitted: true,
		Requests: provider.Meter{Known: true, Limit: 600, Remaining: 9, Reset: 100 * ms},
		Tokens:   provider.Meter{Known: true, Limit: 6000, Remaining: 900, Reset: sec},
	}, a)
	p.Arrive(50*ms, 101)
	a, _ = p.Arrive(50*ms, 1)
	assert.Equal(t, provider.Concurrency, a.Limit)
	assert.Equal(t, provider.Meter{Known: true, Limit: 6000, Remaining: 804, Reset: 1960 * ms}, a.Tokens)
	assert.Equal(t, int64(8), a.Requests.Remaining, "8.5, rounded down")

	p = provider.New(provider.Config{Minute: 1, Cap: 1, Headers: true, Names: provider.Nothing, RefusalsCount: true}, nil)
	p.Arrive(sec, 0)
	a, _ = p.Arrive(2*sec, 0)
	assert.Equal(t, provider.Answer{Requests: provider.Meter{Known: true, Limit: 1, Reset: 58 * sec}}, a, "neither the cap's name nor less than nothing")
}

func TestWhatRefusalsName(t *testing.T) {
	const lots = 60_000
	fast, slow := provider.Bucket{PerMinute: lots, Burst: 1}, provider.Bucket{PerMinute: 60, Burst: 1}
	for about, c := range map[string]struct {
		config provider.Config
		want   [4]provider.Limit // by Names
	}{
		"a cap":        {provider.Config{Cap: 1}, [4]provider.Limit{0, 0, provider.Concurrency, provider.Requests}},
		"by headers":   {provider.Config{Cap: 1, Headers: true}, [4]provider.Limit{provider.Concurrency, 0, provider.Concurrency, provider.Requests}},
		"calls":        {provider.Config{Requests: slow, Tokens: fast}, [4]provider.Limit{0, 0, provider.Requests, provider.Requests}},
		"tokens":       {provider.Config{Requests: fast, Tokens: slow}, [4]provider.Limit{0, 0, provider.Tokens, provider.Requests}},
		"a window":     {provider.Config{Minute: 1}, [4]provider.Limit{0, 0, provider.Requests, provider.Requests}},
		"a log":        {provider.Config{Log: provider.Log{Max: 1, Per: time.Second}}, [4]provider.Limit{0, 0, provider.Requests, provider.Requests}},
		"a cap, later": {provider.Config{Cap: 1, Minute: 1}, [4]provider.Limit{0, 0, provider.Requests, provider.Requests}},
		"an overload":  {provider.Config{Overload: 1}, [4]provider.Limit{0, 0, 0, provider.Requests}},
	} {
		t.Run(about, func(t *testing.T) {
			for names, want := range c.want {
				config := c.config
				config.Names = provider.Names(names)
				p := provider.New(config, nil)
				taken, _ := p.Arrive(0, 1)
				assert.Zero(t, taken.Limit)
				refused, cause := p.Arrive(0, 1)
				assert.Equal(t, provider.Limited, cause)
				assert.Equal(t, want, refused.Limit, "%d", names)
			}
		})
	}
	luck := rand.New(rand.NewPCG(1, 2))
	p := provider.New(provider.Config{Errors: []provider.Errors{{Share: 1}}, Names: provider.Everything}, luck)
	assert.Zero(t, must(p.Arrive(0, 1)).Limit, "bad luck has no name")
	p = provider.New(provider.Config{Errors: []provider.Errors{{Share: 1}}, Names: provider.RequestsOnly}, luck)
	assert.Equal(t, provider.Requests, must(p.Arrive(0, 1)).Limit)
}

func TestNoise(t *testing.T) {
	const calls = 20_000
	p := provider.New(provider.Config{Errors: []provider.Errors{{Share: 0.05}}, Minute: calls / 2, RetryAfter: provider.Exact}, rand.New(rand.NewPCG(1, 2)))
	counts := map[provider.Cause]int{}
	for range calls {
		a, cause := p.Arrive(0, 0)
		counts[cause]++
		assert.Equal(t, cause == provider.Limited, a.RetryAfter > 0, "bad luck has no end to wait for")
	}
	assert.Equal(t, calls/2, counts[provider.None])
	assert.InDelta(t, calls/2*0.05/0.95, counts[provider.Unlucky], 60, "who would be refused anyway is not unlucky")
}

func TestStrain(t *testing.T) {
	p := provider.New(provider.Config{Knee: 2}, nil)
	var strains []float64
	for range 4 {
		p.Arrive(0, 0)
		strains = append(strains, p.Strain())
	}
	assert.Equal(t, []float64{1, 1, 1.5, 2}, strains)
	assert.Equal(t, 4, p.InFlight())
	assert.Equal(t, 1.0, provider.New(provider.Config{}, nil).Strain())
}

func TestTheOmniscientLeaveRoomBeforeAnOverload(t *testing.T) {
	p := provider.New(provider.Config{Overload: 3}, nil)
	p.Arrive(0, 0)
	assert.Zero(t, p.Wait(0, 0))
	p.Arrive(0, 0)
	assert.Equal(t, provider.Forever, p.Wait(0, 0))
	assert.True(t, must(p.Arrive(0, 0)).Admitted)
}
