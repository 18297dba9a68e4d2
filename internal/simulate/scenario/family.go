package scenario

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/client"
	"github.com/headrace/headrace/internal/simulate/provider"
)

// Family is providers that are difficult for one reason.
type Family struct {
	Name    string // a number of two digits and what it is about
	Members []Scenario
}

// Families returns the families that laws are judged by. Each member is a
// provider of its own, and its name begins with the number of its family.
func Families() []Family {
	return []Family{
		family("01 a rate and a long quota", quotas()),
		family("02 two tiers", tiers()),
		family("03 episodes of errors", episodes()),
		family("05 a server that sheds", shedding()),
		family("06 tokens", tokens()),
		family("07 lies", lies()),
		family("08 steps and outages", outages()),
		family("09 caps", caps()),
		family("10 one quota for many", many()),
		family("11 slow, fast, long", extremes()),
		family("13 stray errors", strays()),
		family("14 real services", services()),
		family("15 preset and headers", presets()),
		family("16 out of order", disordered()),
	}
}

// member is one row of a family.
type member struct {
	about    string
	provider provider.Config
	more     []func(*Scenario)
}

func family(name string, members []member) Family {
	f := Family{Name: name}
	for _, m := range members {
		f.Members = append(f.Members, of(name[:3]+m.about, m.about, m.provider, m.more...))
	}
	return f
}

// does is a row.
func does(about string, p provider.Config, more ...func(*Scenario)) member {
	return member{about, p, more}
}

const (
	minute = time.Minute
	hour   = time.Hour
)

// What alters a setting.

func lasting(d time.Duration) func(*Scenario) { return func(s *Scenario) { s.Lasts = d } }

// taking is how long calls take on average; pools get the workers that they need.
func taking(d time.Duration, pool int) func(*Scenario) {
	return func(s *Scenario) { s.Latency, s.Pool = d, pool }
}

// near is a service on the same continent, with answers that take d.
func near(d time.Duration, pool int) func(*Scenario) {
	return func(s *Scenario) {
		s.Latency, s.Refusal, s.Net, s.Pool = d, 5*time.Millisecond, time.Millisecond, pool
	}
}

// counted calls differ in tokens, with a tail, and are guessed between low and
// high times what they reserve.
func counted(tail, low, high float64) func(*Scenario) {
	return func(s *Scenario) { s.Tokens, s.Tail, s.Guess = true, tail, client.Range{Low: low, High: high} }
}

// scattered calls arrive in another order than they left in: each takes 25 to 200 ms until
// the provider decides, and as long again until its answer is there. So many callers wait for them.
func scattered(callers int) func(*Scenario) {
	const high = 200 * time.Millisecond
	return func(s *Scenario) {
		s.Latency, s.Refusal, s.Callers = time.Millisecond, time.Millisecond, callers
		s.Transit = client.Between{Low: high / 8, High: high}
	}
}

// scattering calls take so long on their way, each way, besides their latency.
func scattering(low, high time.Duration) func(*Scenario) {
	return func(s *Scenario) { s.Refusal, s.Transit = 10*time.Millisecond, client.Between{Low: low, High: high} }
}

func calling(callers int) func(*Scenario) { return func(s *Scenario) { s.Callers = callers } }

func documented(rpm, tpm int64) func(*Scenario) {
	return func(s *Scenario) { s.Preset = client.Preset{RequestsPerMinute: rpm, TokensPerMinute: tpm} }
}

func stepping(at time.Duration, factor float64) provider.Change {
	return provider.Change{At: at, Factor: factor}
}

func capping(at time.Duration, places int) provider.Change {
	return provider.Change{At: at, Cap: places}
}

// What alters a provider.

func also(c provider.Config, more ...provider.Quota) provider.Config {
	return with(c, func(c *provider.Config) { c.More = more })
}

func silent(c provider.Config) provider.Config {
	return with(c, func(c *provider.Config) { c.RetryAfter = provider.Silent })
}

func capped(c provider.Config, places int) provider.Config {
	return with(c, func(c *provider.Config) { c.Cap = places })
}

func telling(c provider.Config, t provider.Tale) provider.Config {
	return with(c, func(c *provider.Config) { c.Tale = t })
}

func saying(c provider.Config, r provider.RetryAfter, constant time.Duration, lie float64) provider.Config {
	return with(c, func(c *provider.Config) { c.RetryAfter, c.Constant, c.Lie = r, constant, lie })
}

func striking(c provider.Config, all ...provider.Errors) provider.Config {
	return with(c, func(c *provider.Config) { c.Errors = all })
}

func spending(c provider.Config, perMinute, burst float64) provider.Config {
	return with(c, func(c *provider.Config) { c.Tokens = provider.Bucket{PerMinute: perMinute, Burst: burst} })
}

// clock is a fixed window that turns when the warm-up is over.
func clock(limit int, per time.Duration) provider.Quota {
	return provider.Quota{Max: limit, Per: per, Count: provider.Clock, Turn: client.WarmUp}
}

func counts(limit int, per time.Duration, c provider.Count) provider.Quota {
	return provider.Quota{Max: limit, Per: per, Count: c}
}

func shown(q provider.Quota) provider.Quota {
	q.Shown = true
	return q
}

// hollow is a quota that only headers know.
func hollow(limit int, per time.Duration) provider.Quota {
	return provider.Quota{Max: limit, Per: per, Shown: true, Hollow: true}
}

// episode is errors of a share of the calls for 5 to 20 s, about once in 80 s.
func episode(share float64, m provider.Manner) provider.Errors {
	return provider.Errors{Manner: m, Share: share, For: 5 * time.Second, Most: 20 * time.Second, Every: minute}
}

// outage is no answers but rejections, from five minutes after the warm-up on.
func outage(d time.Duration, m provider.Manner) provider.Errors {
	return provider.Errors{Manner: m, Share: 1, From: client.WarmUp + 5*minute, For: d}
}

func stray(share float64, m provider.Manner) provider.Errors {
	return provider.Errors{Manner: m, Share: share}
}

// How rejections look that no rate calls for.

func plain(s provider.Status) provider.Manner { return provider.Manner{Status: s} }

func after(s provider.Status, d time.Duration) provider.Manner {
	return provider.Manner{Status: s, After: d}
}
