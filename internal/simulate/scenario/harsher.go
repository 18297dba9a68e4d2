package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
	"github.com/headrace/headrace/internal/simulate/world"
)

// Harsher returns the i-th scenario of the harsher generator, always the same
// for the same i. It draws a limit as one of the families has it, something
// that disturbs it in three of four worlds, and one, two, four or sixteen
// processes, all with parameters at random. In one of three, calls arrive in
// another order than they left in.
func Harsher(i int) Scenario {
	d := dice{world.NewChance(uint64(i), 0x4a45), i} //nolint:gosec // any bits will do
	var s Scenario
	s.Latency = d.seconds(0.2, 10)
	s.Refusal = d.seconds(0.02, 0.6)
	s.Net = d.seconds(0.002, 0.1)
	s.Pool = 128
	s.Processes = pick(d, 1, 1, 1, 1, 2, 4, 16)
	s.Provider.RetryAfter = pick(d, provider.Silent, provider.WholeSeconds, provider.WholeSeconds, provider.Exact, provider.Sometimes)
	about := oneOf(d, limits())(d, &s)
	about += oneOf(d, disturbances())(d, &s)
	about += disorder(dice{world.NewChance(uint64(i), 0x4a46), i}, &s) //nolint:gosec // any bits will do
	s.Name = fmt.Sprintf("h%d", i)
	s.About = fmt.Sprintf("%s, Retry-After %s, latency %.1f s, %d processes", about,
		retryAfter(s.Provider.RetryAfter), s.Latency.Seconds(), s.Processes)
	return withDefaults(s)
}

// drawn is one way to draw a part of a scenario, and how often it is taken.
type drawn struct {
	weight int
	draw   func(dice, *Scenario) string // returns what it is like
}

func limits() []drawn {
	return []drawn{
		{2, limitBucket},
		{2, limitTiers},
		{1, limitLong},
		{1, limitWindow},
		{1, limitLog},
		{2, limitCap},
		{1, limitQueue},
		{2, limitTokens},
		{1, limitSlow},
		{1, limitFast},
		{1, limitPatient},
	}
}

func disturbances() []drawn {
	return []drawn{
		{2, undisturbed},
		{1, disturbEpisodes},
		{1, disturbStrays},
		{1, disturbOutage},
		{1, disturbSteps},
		{1, disturbRetryAfter},
		{1, disturbHeaders},
	}
}

func oneOf(d dice, all []drawn) func(dice, *Scenario) string {
	var urn []drawn
	for _, w := range all {
		for range w.weight {
			urn = append(urn, w)
		}
	}
	return pick(d, urn...).draw
}

// rate draws calls per second, as many as the latency lets a window of
// mostNeeded reach, and a burst of at least one call.
func (d dice) rate(s *Scenario, low, high float64) (rate, burst float64) {
	rate = d.LogUniform(low, max(low, min(high, mostNeeded/s.Latency.Seconds())))
	return rate, max(1, math.Round(rate*d.LogUniform(0.1, 20)))
}

// bucket is shared by no more processes than get a call in ten seconds each:
// fewer calls are not worth a process.
func (d dice) bucket(s *Scenario, low, high float64) string {
	rate, burst := d.rate(s, low, high)
	s.Processes = min(s.Processes, max(1, int(10*rate)))
	s.Provider.Requests = provider.Bucket{PerMinute: rate * 60, Burst: burst}
	return fmt.Sprintf("%.3g/s b%.0f", rate, burst)
}

// quota is a limit on what the bucket of s admits in per.
func (d dice) quota(s *Scenario, low, high float64, per time.Duration) string {
	limit := max(5, int(s.Provider.Requests.PerMinute*per.Minutes()*d.LogUniform(low, high)))
	count := pick(d, provider.Clock, provider.FirstCall, provider.Refilled, provider.Exactly)
	s.Provider.More = append(s.Provider.More, provider.Quota{Max: limit, Per: per, Count: count, Turn: client.WarmUp, Shown: d.IntN(2) == 0})
	return fmt.Sprintf(" and %d in %v (%s)", limit, per, [...]string{"clock", "first call", "refilled", "exactly"}[count])
}

func limitBucket(d dice, s *Scenario) string { return d.bucket(s, 0.3, 60) }

func limitTiers(d dice, s *Scenario) string {
	return d.bucket(s, 2, 40) + d.quota(s, 0.2, 0.8, pick(d, 10*time.Second, minute, minute, 5*minute))
}

func limitLong(d dice, s *Scenario) string {
	s.Lasts = 2*hour - client.WarmUp // it ends as windows do
	return d.bucket(s, 0.5, 5) + d.quota(s, 0.1, 0.6, hour)
}

func limitWindow(d dice, s *Scenario) string {
	rate, _ := d.rate(s, 1, 40)
	per := pick(d, time.Second, 5*time.Second, 10*time.Second, minute)
	limit := max(3, int(rate*per.Seconds()))
	s.Provider.More = []provider.Quota{counts(limit, per, pick(d, provider.Clock, provider.FirstCall))}
	return fmt.Sprintf("%d in each %v", limit, per)
}

func limitLog(d dice, s *Scenario) string {
	rate, _ := d.rate(s, 1, 40)
	per := pick(d, 2*time.Second, 10*time.Second, minute)
	s.Provider.Log = provider.Log{Max: max(3, int(rate*per.Seconds())), Per: per}
	return fmt.Sprintf("%d in any %v", s.Provider.Log.Max, per)
}

func limitCap(d dice, s *Scenario) string {
	places := max(2*s.Processes, int(d.LogUniform(4, 100)))
	s.Provider.Cap = places
	about := fmt.Sprintf("cap %d", places)
	if d.IntN(2) == 0 {
		for at := 4 * minute; at < 20*minute; at += time.Duration(d.LogUniform(2, 10) * float64(minute)) {
			changing(capping(at, max(2*s.Processes, int(d.LogUniform(4, 150)))))(s)
		}
		about += " that moves"
	}
	if d.IntN(3) == 0 {
		about += " beside " + d.bucket(s, 1, 40)
	}
	return about
}

func limitQueue(d dice, s *Scenario) string {
	knee := int(d.LogUniform(4, 40))
	s.Provider.Knee, s.Provider.Overload = knee, knee*pick(d, 2, 3, 4)
	s.Provider.Shed = d.manner()
	return fmt.Sprintf("queue %d of %d, full: %s", s.Provider.Overload, knee, looks(s.Provider.Shed))
}

func limitTokens(d dice, s *Scenario) string {
	rate, burst := d.rate(s, 0.5, 20)
	s.Tokens, s.Tail = true, pick(d, 0, 0.8, 1.2, 1.6)
	used, largest := 1250., 24_000. // of a call on average, and more than any needs
	s.Provider.Tokens = provider.Bucket{PerMinute: rate * 60 * used, Burst: max(largest, used*burst)}
	if d.IntN(2) == 0 {
		s.Provider.Requests = provider.Bucket{PerMinute: rate * 60 * d.LogUniform(0.7, 2), Burst: burst}
	}
	if d.IntN(2) == 0 {
		s.Guess = pick(d, client.Range{Low: 0.3, High: 0.3}, client.Range{Low: 3, High: 3}, client.Range{Low: 0.3, High: 3})
	}
	return fmt.Sprintf("tokens for %.3g/s, tail %.1f, guessed x%.1f..%.1f", rate, s.Tail, s.Guess.Low, s.Guess.High)
}

func limitSlow(d dice, s *Scenario) string {
	s.Lasts = hour
	return d.bucket(s, 1./30, 0.3)
}

func limitFast(d dice, s *Scenario) string {
	near(d.seconds(0.02, 0.1), 128)(s)
	s.Lasts, s.Processes = 2*minute, 1
	return d.bucket(s, 60, 1000)
}

// limitPatient has calls of a minute and more.
func limitPatient(d dice, s *Scenario) string {
	s.Latency, s.Lasts = d.seconds(60, 180), hour
	if d.IntN(2) == 0 {
		return limitCap(d, s)
	}
	return d.bucket(s, 0.1, 1)
}

// disorder draws how long calls are on their way, up to six tenths of their latency each way.
func disorder(d dice, s *Scenario) string {
	if d.IntN(3) > 0 {
		return ""
	}
	longest := time.Duration(float64(s.Latency) * d.LogUniform(0.1, 0.6))
	s.Transit = client.Between{Low: min(s.Net, longest), High: min(longest, 2*time.Second)}
	return fmt.Sprintf(", up to %.2f s on the way", s.Transit.High.Seconds())
}

func undisturbed(dice, *Scenario) string { return "" }

// looks is how a rejection looks.
func looks(m provider.Manner) string {
	name := [...]string{"429", "529", "503"}[m.Status]
	if m.After == 0 {
		return name
	}
	return fmt.Sprintf("%s with %v", name, m.After)
}

func (d dice) manner() provider.Manner {
	return pick(d,
		plain(provider.TooMany), plain(provider.TooMany), plain(provider.Full), plain(provider.Full), plain(provider.Unavailable),
		after(provider.Unavailable, d.seconds(0.5, 5).Round(time.Second/2)), after(provider.TooMany, d.seconds(0.5, 30).Round(time.Second/2)),
	)
}

func disturbEpisodes(d dice, s *Scenario) string {
	e := episode(pick(d, 0.3, 0.5, 0.8, 1, 1), d.manner())
	e.For, e.Every = d.seconds(3, 10), d.seconds(30, 300)
	s.Provider.Errors = []provider.Errors{e}
	return fmt.Sprintf(", %.0f %% %s for %.0f..20 s each %.0f s", 100*e.Share, looks(e.Manner), e.For.Seconds(), e.Every.Seconds())
}

func disturbStrays(d dice, s *Scenario) string {
	e := stray(d.LogUniform(0.001, 0.02), d.manner())
	s.Provider.Errors = []provider.Errors{e}
	return fmt.Sprintf(", %.2f %% %s", 100*e.Share, looks(e.Manner))
}

func disturbOutage(d dice, s *Scenario) string {
	e := outage(d.seconds(20, 600), d.manner())
	if s.Lasts == 2*minute { // a fast one
		e.From = client.WarmUp + 20*time.Second
		e.For = min(e.For, 30*time.Second)
	}
	s.Provider.Errors = []provider.Errors{e}
	return fmt.Sprintf(", %s for %.0f s", looks(e.Manner), e.For.Seconds())
}

// disturbSteps multiplies the rates by up to 10, and often back. What the
// latency lets a window of mostNeeded reach holds for the start only, so it
// divides first.
func disturbSteps(d dice, s *Scenario) string {
	if s.Provider.Cap > 0 || s.Provider.Overload > 0 || s.Lasts > 0 {
		return ""
	}
	factor := d.LogUniform(2, 10)
	changing(stepping(5*minute, 1/factor), stepping(11*minute, pick(d, 1, factor, factor)))(s)
	return fmt.Sprintf(", /%.1f and perhaps back", factor)
}

func disturbRetryAfter(d dice, s *Scenario) string {
	p := &s.Provider
	if p.RetryAfter == provider.Silent {
		p.RetryAfter = provider.Exact
	}
	if d.IntN(2) == 0 {
		p.Constant = pick(d, time.Millisecond, time.Second, minute, hour)
		return fmt.Sprintf(", which always says %v", p.Constant)
	}
	p.Lie = d.LogUniform(0.1, 30)
	return fmt.Sprintf(", which says x%.2f", p.Lie)
}

func disturbHeaders(d dice, s *Scenario) string {
	switch d.IntN(3) {
	case 0:
		s.Provider.Tale = provider.Tale{Limit: d.LogUniform(1./60, 10), Whole: true}
		return fmt.Sprintf(", header limit x%.2f", s.Provider.Tale.Limit)
	case 1:
		s.Provider.Tale = provider.Tale{Remaining: d.LogUniform(0.1, 10)}
		return fmt.Sprintf(", header remaining x%.2f", s.Provider.Tale.Remaining)
	default:
		limit := max(1, int(60*d.LogUniform(0.1, 60)))
		s.Provider.More = append(s.Provider.More, hollow(limit, minute))
		return fmt.Sprintf(", headers of %d/min", limit)
	}
}
