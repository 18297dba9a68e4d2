package envoy

import "fmt"

// Kind says what a Difference means for the author of the configuration.
type Kind string

const (
	// Differs is a setting that has a different effect here.
	Differs Kind = "differs"
	// Ignored is a setting that changes no limit here.
	Ignored Kind = "ignored"
	// Unsupported is a setting that has no effect on limits here.
	Unsupported Kind = "unsupported"
)

// Difference is a behaviour in which headrace differs from
// envoyproxy/ratelimit.
type Difference struct {
	Kind Kind
	// File, Line, Column and Path locate the setting; they are empty for a
	// difference that applies to every configuration.
	File         string
	Line, Column int    // from 1
	Path         string // such as descriptors[0].rate_limit.unit
	Text         string // what happens here, and what there
}

// String returns the difference in one line.
func (d Difference) String() string {
	if d.File == "" {
		return fmt.Sprintf("%s: %s", d.Kind, d.Text)
	}
	return fmt.Sprintf("%s: %s:%d:%d: %s: %s", d.Kind, d.File, d.Line, d.Column, d.Path, d.Text)
}

// Differences returns the differences that apply to every configuration.
func Differences() []Difference {
	var all []Difference
	for _, text := range []string{
		"a limit holds in every trailing interval. envoyproxy/ratelimit counts from one full unit to the next, and admits up to twice " +
			"the limit around its end",
		"a limit above 1,024 is counted in 1,024 parts of its unit, and in Redis a limit above 128 in 64 parts: an admission may be late by one part, never early",
		"a rejected request counts against none of its limits. envoyproxy/ratelimit counts it against each, even if only one is exceeded",
		"a descriptor with its own hits_addend above 0 always counts, even if it does not fit, because it may report usage. The limit may " +
			"then go below zero, and a hits_addend of 0 is rejected until it has recovered",
		"duration_until_reset of a rejected descriptor is the time until it fits, and of an admitted one the time until the limit is unused. " +
			"In envoyproxy/ratelimit both are the end of the unit",
		"limit_remaining of a rejected descriptor is the actual remainder, which may be above 0 if hits_addend is above 1",
		"is_negative_hits returns hits that this process has counted for the descriptor, call by call. envoyproxy/ratelimit lowers the count, whichever replica raised it",
		"a limit in the request is counted separately from the configured limit of the same descriptor, and separately for each length of its unit",
		"keys and values are compared as pairs. envoyproxy/ratelimit joins them with _, so that (a, b_c) and (a_b, c) are the same",
		"the environment variables of envoyproxy/ratelimit are not read: shadow mode, headers and the store are in headrace's configuration",
	} {
		all = append(all, Difference{Kind: Differs, Text: text})
	}
	return all
}
