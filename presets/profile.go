package presets

import (
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace/presets/dialect"
	"github.com/headrace/headrace/throttle"
)

// Profile is one preset: the limits, their source and their date. The Profiles
// that a Table returns are copies.
type Profile struct {
	ID       ID
	Provider string // the first part of ID, and the default of New, as for the next two
	Tier     string
	Model    string // as the provider spells it; empty means all models of the tier

	Kind       Kind
	Limits     throttle.Limits  // zero unless Kind is KindLimits
	PointsUnit string           // what the Points in Limits count, such as "images"; empty without Points
	Extra      map[string]int64 // limits that are not windows, such as "batch_queue_tokens", by their field in facts.json
	Hard       bool             // a hard limit: going faster gets you banned instead of a 429

	Dialect dialect.Name // how the provider reports limits; default dialect.Auto

	Source     Source
	AsOf       time.Time // date of the source: the start of that day, month or year in UTC
	Estimated  bool      // the source has no date, and AsOf is the earliest plausible one
	Confidence Confidence

	Scope     string // which calls the provider counts together, such as "organization+model"
	Pool      string // profiles with the same Pool share one quota, so give them one limiter; default the ID
	Algorithm string // how the provider counts; empty if not documented
	Counts    string // which tokens count
	Status    string // such as "superseded"; empty if in force
	Notes     string

	Main bool // counts towards the limits of provider/tier

	precision precision // of AsOf
}

// Kind says whether a profile has limits.
type Kind string

// The kinds of profiles.
const (
	KindLimits      Kind = "limits"      // has numbers
	KindInfo        Kind = "info"        // the provider publishes no numbers: no Limits, only a Dialect
	KindUnavailable Kind = "unavailable" // the provider rejects every call, such as a model with a limit of zero
)

// Confidence says how reliable a number is.
type Confidence string

// The levels of confidence, the best first.
const (
	High       Confidence = "high"       // read in the provider's own text
	Medium     Confidence = "medium"     // from a dated copy, or derived
	Low        Confidence = "low"        // old, or sources disagree
	Convention Confidence = "convention" // a usual number, not a limit of a provider
)

// trust orders confidences; an unknown word is below all.
func (c Confidence) trust() int {
	return slices.Index([]Confidence{Convention, Low, Medium, High}, c)
}

// Source is where the numbers of a profile come from.
type Source struct {
	Title string
	URL   string // may be empty
}

// clone shares nothing with p that could be changed.
func (p Profile) clone() Profile {
	p.Limits.Windows = slices.Clone(p.Limits.Windows)
	p.Extra = maps.Clone(p.Extra)
	return p
}
