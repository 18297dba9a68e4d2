package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// counts is what was counted, by name.
type counts map[string]int64

// add sums counts up. Those in milliseconds, percent or MiB are the largest.
func (c counts) add(name string, n int64) {
	if strings.HasSuffix(name, "_ms") || strings.HasSuffix(name, "_percent") || strings.HasSuffix(name, "_mib") {
		c[name] = max(c[name], n)
		return
	}
	c[name] += n
}

// claim is what a count has to be.
type claim struct {
	name, is string // is: =, >= or <=
	bound    int64
}

var claimed = regexp.MustCompile(`^([a-z][a-z0-9_]*)(>=|<=|=)(\d+)$`)

func parseClaims(text string) (all []claim, err error) {
	for field := range strings.FieldsSeq(text) {
		m := claimed.FindStringSubmatch(field)
		if m == nil {
			return nil, fmt.Errorf("scorecard: %q is not a claim such as lost=0", field)
		}
		bound, err := strconv.ParseInt(m[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("scorecard: claim %q: %w", field, err)
		}
		all = append(all, claim{m[1], m[2], bound})
	}
	return all, nil
}

// violation says how c breaks the claim; it is empty if c fulfils it.
func (c claim) violation(found counts) string {
	n, ok := found[c.name]
	switch {
	case !ok:
		return c.name + " was not counted"
	case c.is == "=" && n != c.bound, c.is == ">=" && n < c.bound, c.is == "<=" && n > c.bound:
		return fmt.Sprintf("%s=%d, and not %s%d", c.name, n, c.is, c.bound)
	}
	return ""
}
