package rules

import (
	"time"

	"github.com/headrace/headrace/throttle"
)

// The defaults of a file.
const (
	DefaultCapacity = 1000
	DefaultRefill   = 10 // tokens per second
	defaultTimeout  = 500 * time.Millisecond
	defaultMaxAge   = time.Hour
)

// Memory is the store of one process, and the default.
const Memory = "memory"

// Bounds on what a file may say.
const (
	mostRules     = 10_000
	mostCosts     = 10_000
	mostCost      = 1_000_000
	mostTokens    = 1000
	mostMinRefill = int64(time.Hour / time.Millisecond)
	refillFactor  = 1000 // a second refills a limit at most so many times
	largestFile   = 4 << 20
)

// File is what the YAML says, before it is validated.
type File struct {
	RateLimits []Limit          `config:"rate_limits"`
	Default    *Limit           `config:"default"`
	Costs      map[string]int64 `config:"costs"`
	Envoy      Envoy            `config:"envoy"`
	Runtime    Runtime          `config:"runtime"`
}

// Envoy is what Envoy's rate limit service answers from.
type Envoy struct {
	Files      []string     `config:"files"` // of envoyproxy/ratelimit, or folders of them
	ShadowMode bool         `config:"shadow_mode"`
	Headers    EnvoyHeaders `config:"headers"`
}

// EnvoyHeaders are the names of headers that Envoy adds to responses.
type EnvoyHeaders struct {
	Limit     string `config:"limit"`
	Remaining string `config:"remaining"`
	Reset     string `config:"reset"`
}

// Limit is an entry of rate_limits.
type Limit struct {
	Name       string           `config:"name"`
	Scope      string           `config:"scope"`
	Resource   string           `config:"resource"`
	Capacity   *int64           `config:"capacity"`
	RefillRate *float64         `config:"refill_rate"` // tokens per second; 0: it never refills
	MinRefill  *int64           `config:"min_refill_interval_ms"`
	Limits     *throttle.Limits `config:"limits"` // instead of Capacity and RefillRate
}

// Runtime is how the service runs. All but Auth takes effect at the start only.
type Runtime struct {
	Store      string        `config:"store"`
	Outage     Outage        `config:"outage"`
	LocalShare float64       `config:"local_share"`
	Timeout    time.Duration `config:"timeout"`
	Breaker    Breaker       `config:"breaker"`
	Redis      Redis         `config:"redis"`
	Permits    Permits       `config:"permits"`
	Auth       Auth          `config:"auth"`
}

// Outage is what happens to checks while the store is unavailable.
type Outage string

// The policies.
const (
	Closed Outage = "closed" // they fail
	Open   Outage = "open"   // they are allowed
	Local  Outage = "local"  // this process admits a share of each limit
)

// Breaker is when the store is not asked any more.
type Breaker struct {
	Failures  int           `config:"failures"`
	Successes int           `config:"successes"`
	Open      time.Duration `config:"open"`
	MaxOpen   time.Duration `config:"max_open"`
}

// Redis is for a store in Redis.
type Redis struct {
	PoolSize    int           `config:"pool_size"`
	DialTimeout time.Duration `config:"dial_timeout"`
}

// Permits are signed, so that every replica can end them.
type Permits struct {
	KeyFile string        `config:"key_file"`
	MaxAge  time.Duration `config:"max_age"`
}

// Auth is the bearer tokens that are accepted.
type Auth struct {
	TokenFile   string   `config:"token_file"`   // one token a line
	TokenHashes []string `config:"token_hashes"` // SHA-256 in hexadecimal
}
