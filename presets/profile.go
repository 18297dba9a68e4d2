package presets

import (
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Profile is one preset: what is allowed, who says so, and since when. The
// Profiles that a Table returns are copies.
type Profile struct {
	ID       ID
	Provider string // the first part of the ID; default for New: taken from there, as the next two
	Tier     string
	Model    string // as the provider spells it; empty: all models of the tier

	Kind       Kind
	Limits     throttle.Limits // zero unless Kind is KindLimits
	PointsUnit string          // what one of the Points in Limits is, such as "images"; empty: there are none
	Extra      map[Fact]int64  // limits that are no windows
	Hard       bool            // a rule to keep, not a limit to find: nobody refuses, so nothing would be learnt

	Dialect dialect.Name // how the provider reports limits; default dialect.Auto

	Source     Source
	AsOf       time.Time // when the source said so: the beginning of that day, month or year in UTC
	Precision  Precision // of AsOf
	Estimated  bool      // the source bears no date, and AsOf is the earliest that is plausible
	Confidence Confidence

	Scope     string // whom the provider counts together, in words, such as "organization+model"
	Pool      string // profiles with the same Pool draw on one quota: give them one limiter; default the ID
	Algorithm string // how the provider counts, in words; empty: it does not say
	Counts    string // which tokens count, in words
	Status    string // such as "superseded"; empty: in force
	Notes     string

	Main     bool // counts for provider/tier
	Constant bool // has a constant in this package, as those have that are Main
}

// Kind tells whether a profile has limits.
type Kind string

const (
	// KindLimits has numbers.
	KindLimits Kind = "limits"
	// KindInfo has none, because the provider publishes none or counts something
	// else. Its Limits allow everything, and a limiter has to find them out; the
	// Dialect is what such a profile is good for.
	KindInfo Kind = "info"
	// KindUnavailable is refused by the provider at once, such as a model that a
	// free tier lists with a limit of zero. Lookup returns it with an *UnavailableError.
	KindUnavailable Kind = "unavailable"
)

// Confidence tells how far a number can be trusted.
type Confidence string

// How far a number can be trusted.
const (
	High       Confidence = "high"       // read in the provider's own text
	Medium     Confidence = "medium"     // from a dated copy, or derived
	Low        Confidence = "low"        // old, or sources disagree
	Convention Confidence = "convention" // nobody's limit: a number that is usual
)

// trust orders confidences; a word that is none is below all.
func (c Confidence) trust() int {
	return slices.Index([]Confidence{Convention, Low, Medium, High}, c)
}

// Source is where the numbers of a profile come from.
type Source struct {
	Title string
	URL   string // empty: there is none to point to
}

// Fact is a limit that is no window.
type Fact string

// The facts that a table knows.
//
//nolint:gosec // these tokens are no credentials
const (
	BatchQueueTokens   Fact = "batch_queue_tokens"   // tokens that may wait in the batch API
	BatchQueueRequests Fact = "batch_queue_requests" // requests that may wait in the batch API
	RPMPer1kTPM        Fact = "rpm_per_1k_tpm"       // requests per minute for each 1,000 tokens per minute that a deployment has
)

// clone shares nothing with p that could be changed.
func (p Profile) clone() Profile {
	p.Limits.Windows = slices.Clone(p.Limits.Windows)
	p.Extra = maps.Clone(p.Extra)
	return p
}
