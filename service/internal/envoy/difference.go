package envoy

import "fmt"

// Kind says what a Difference means for the author of the configuration.
type Kind string

const (
	// Differs is a setting that has an effect, but another one.
	Differs Kind = "differs"
	// Ignored is a setting that changes no limit here.
	Ignored Kind = "ignored"
	// Unsupported is a setting that has no effect on limits here.
	Unsupported Kind = "unsupported"
)

// Difference is something that envoyproxy/ratelimit does otherwise.
type Difference struct {
	Kind Kind
	// File, Line, Column and Path say where the setting is; they are empty for what
	// holds for every configuration.
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

// Differences returns what holds for every configuration.
func Differences() []Difference {
	var all []Difference
	for _, text := range []string{
		"a limit holds in every trailing interval. envoyproxy/ratelimit counts from one full unit to the next, and admits up to twice " +
			"the limit around its end",
		"a limit above 1,024 counts in 1,024 parts of its unit, and in Redis one with more than 128 admissions in 64: an admission may come late by a part, never early",
		"a refused request counts against none of its limits. envoyproxy/ratelimit counts it against each, also if only another is over",
		"a descriptor with a hits_addend of its own above 0 always counts, also if it does not fit: it may report what was used. A limit may " +
			"then go below zero, and a hits_addend of 0 is refused until it is back",
		"duration_until_reset of a refused descriptor is when it fits again, and of an admitted one when the limit is unused. " +
			"In envoyproxy/ratelimit both are the end of the unit",
		"limit_remaining of a refused descriptor is what is left, which may be more than 0 if hits_addend is above 1",
		"is_negative_hits gives back what this process has counted for the descriptor, call by call. envoyproxy/ratelimit lowers the count, whichever replica raised it",
		"a limit in the request counts apart from the configured limit of the same descriptor, and apart for each length of its unit",
		"keys and values are compared as pairs. envoyproxy/ratelimit joins them with _, so that (a, b_c) and (a_b, c) are the same",
		"the environment variables of envoyproxy/ratelimit are not read: headrace's configuration has shadow mode and headers, and its store",
	} {
		all = append(all, Difference{Kind: Differs, Text: text})
	}
	return all
}
