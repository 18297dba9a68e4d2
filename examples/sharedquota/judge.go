package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/headrace/headrace/providertest"
)

// judge prints what the provider saw, and fails if it was more than the limit.
func judge(out io.Writer, s *settings, l providertest.Ledger, took time.Duration) error {
	most, violations := busiest(l, s.rate)
	possible := float64(s.rate)*took.Seconds() + burst
	fmt.Fprintf(out, "%d were killed and replaced in %.1f s\n", s.kills, took.Seconds())
	fmt.Fprintf(out, "provider's ledger: %d arrivals, %d admitted (%.0f %% of what is possible), %d refused with 429\n",
		l.Arrivals, l.Admitted, 100*float64(l.Admitted)/possible, l.Refused)
	fmt.Fprintf(out, "any second: at most %d arrivals, %d violations\n", most, violations)
	if l.Refused > 0 || violations > 0 || l.Admitted == 0 {
		return fmt.Errorf("%d admitted, %d refused, %d violations", l.Admitted, l.Refused, violations)
	}
	return nil
}

// busiest returns the most arrivals in a second, and how many arrivals were more than a
// full bucket and a second's refill: whatever the provider itself has decided.
func busiest(l providertest.Ledger, rate int) (most, violations int) {
	var window []time.Time
	for a := range l.All() {
		window = append(window, a.At)
		for a.At.Sub(window[0]) >= time.Second {
			window = window[1:]
		}
		most = max(most, len(window))
		if len(window) > 2*rate {
			violations++
		}
	}
	return most, violations
}

// cut returns the scheme of an address.
func cut(address string) (scheme, rest string, ok bool) { return strings.Cut(address, ":") }
