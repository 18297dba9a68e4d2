package scenario

import (
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

// services have the limits that these services document, as of 2026.
func services() []member {
	nginx := func(c provider.Config) provider.Config {
		c.Status, c.Tale = provider.Unavailable, provider.Tale{Absent: true}
		return c
	}
	discord := provider.Config{RetryAfter: provider.Exact, More: []provider.Quota{shown(counts(5, 5*time.Second, provider.FirstCall)), clock(50, time.Second)}}
	// Shopify counts down from 40 and always asks for two seconds.
	shopify := provider.Config{
		RetryAfter: provider.Exact, Constant: 2 * time.Second,
		More: []provider.Quota{counts(40, 20*time.Second, provider.Refilled)},
	}
	github := provider.Config{
		Cap: 100, RetryAfter: provider.WholeSeconds, Tale: provider.Tale{Whole: true},
		More: []provider.Quota{shown(counts(5000, hour, provider.FirstCall)), counts(900, minute, provider.Exactly)},
	}
	openai := func(rpm, tpm float64) provider.Config {
		return spending(with(perMinute(rpm, rpm/10), func(c *provider.Config) { c.RetryAfter = provider.Exact }), tpm, tpm/2)
	}
	return []member{
		does("nginx limit_req 10/s burst=20 nodelay: 503", nginx(silent(perMinute(600, 21))), lasting(8*minute)),
		does("nginx limit_conn 20: 503", nginx(capped(provider.Config{}, 20)), lasting(8*minute)),
		does("Discord: 5 in 5 s of a route, 50/s of all", discord),
		does("Shopify REST: 40, and 2 more a second", shopify),
		does("GitHub REST: 5,000/h, 900/min, 100 in flight", github, lasting(2*hour-10*minute)),
		does("GitHub search: 30/min", also(provider.Config{RetryAfter: provider.WholeSeconds, Tale: provider.Tale{Whole: true}}, counts(30, minute, provider.FirstCall))),
		does("OpenAI of old: 500/min, 30,000 tokens", openai(500, 30_000), counted(0, 1, 1)),
		does("Anthropic: 50/min, 50,000 tokens", anthropic(50, 5, 50_000, 0), counted(0, 1, 1)),
	}
}

// anthropic limits calls and tokens by buckets, tells of tokens in thousands,
// and is overloaded for a share of the calls.
func anthropic(rpm, burst, tpm, full float64) provider.Config {
	c := spending(perMinute(rpm, burst), tpm, tpm/2)
	c.Tale = provider.Tale{Whole: true, Round: 1000}
	if full > 0 {
		c.Errors = []provider.Errors{stray(full, plain(provider.Full))}
	}
	return c
}

// presets document what they do, or did. A bucket of a second is what the
// documentation warns of: a minute's limit may be enforced by the second.
func presets() []member {
	const rpm, tpm, second = 600, 900_000, 10
	ordinary := counted(0, 1, 1)
	return []member{
		does("0.3 % 529", anthropic(rpm, second, tpm, 0.003), ordinary, documented(rpm, tpm)),
		does("1 % 529", anthropic(rpm, second, tpm, 0.01), ordinary, documented(rpm, tpm)),
		does("1 % 529, 50/min", anthropic(50, 5, 75_000, 0.01), ordinary, documented(50, 75_000)),
		does("0.5 % 529, a preset of twice the truth", anthropic(rpm, 6*second, tpm, 0.005), ordinary, documented(2*rpm, 2*tpm)),
		does("0.5 % 529, a preset of half the truth", anthropic(rpm, second, tpm, 0.005), ordinary, documented(rpm/2, tpm/2)),
	}
}
