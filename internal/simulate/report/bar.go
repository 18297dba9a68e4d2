package report

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/internal/simulate/law"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

// Bar says what is wrong with a contender's figures in a scenario; empty if
// they are good enough, or not checked.
type Bar func(s *scenario.Scenario, contender string, f Figures) string

// What the default law has to reach, in percent.
const (
	headersGoodput = 98
	blindGoodput   = 95
	mostRefused    = 1.5
	mostAlone      = 0.5 // with headers, where the quota is not shared
	leastJain      = 0.85
	coldGoodput    = 85
	firstGoodput   = 95
	coldSlow       = 75 // where a call takes 8 s
	slow           = 8  // seconds
)

func asked(contender string) bool { return contender == law.Blind || contender == law.Headers }

// TwelveBar is that of the twelve.
func TwelveBar(s *scenario.Scenario, contender string, f Figures) string {
	goodput, refused := float64(blindGoodput), mostRefused
	if contender == law.Headers {
		goodput = headersGoodput
		if !s.Shared() {
			refused = mostAlone
		}
	}
	return fall(s, contender, f, goodput, refused)
}

// BeyondBar is that beyond the twelve.
func BeyondBar(s *scenario.Scenario, contender string, f Figures) string {
	return fall(s, contender, f, blindGoodput, mostRefused)
}

// ColdBar is that of the cold start.
func ColdBar(s *scenario.Scenario, contender string, f Figures) string {
	least := float64(coldGoodput)
	if s.Latency.Seconds() >= slow {
		least = coldSlow
	}
	if !asked(contender) || f.Cold >= least {
		return ""
	}
	return fmt.Sprintf("goodput %.1f < %g", f.Cold, least)
}

// FirstBar is that of the first minute.
func FirstBar(_ *scenario.Scenario, contender string, f Figures) string {
	if !asked(contender) || f.First >= firstGoodput {
		return ""
	}
	return fmt.Sprintf("goodput %.1f < %g", f.First, float64(firstGoodput))
}

func fall(s *scenario.Scenario, contender string, f Figures, goodput, refused float64) string {
	if !asked(contender) {
		return ""
	}
	var short []string
	if f.Goodput < goodput {
		short = append(short, fmt.Sprintf("goodput %.1f < %g", f.Goodput, goodput))
	}
	if f.Own > refused {
		short = append(short, fmt.Sprintf("429s %.2f > %g", f.Own, refused))
	}
	if s.Shared() && f.Jain < leastJain {
		short = append(short, fmt.Sprintf("Jain %.2f < %g", f.Jain, leastJain))
	}
	return strings.Join(short, ", ")
}
