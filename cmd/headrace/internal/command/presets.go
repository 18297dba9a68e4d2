package command

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/presets"
)

type presetsCommand struct {
	List   presetsList   `cmd:"" help:"List the presets of all providers, or of one."`
	Show   presetsShow   `cmd:"" help:"Show one, with its source and its age."`
	Search presetsSearch `cmd:"" help:"List those whose name, scope or notes have a text."`
}

type presetsList struct {
	Provider string `arg:"" optional:"" help:"Such as openai."`
}

// Run is called by kong.
func (c *presetsList) Run(p *Program) error {
	return list(p.Stdout, time.Now(), func(row *presets.Profile) bool {
		return c.Provider == "" || strings.EqualFold(row.Provider, c.Provider)
	},
		fmt.Sprintf("no preset is of %q; there are %s", c.Provider, strings.Join(presets.Providers(), ", ")))
}

type presetsSearch struct {
	Text string `arg:"" help:"What to look for, whatever its case, such as gpt-4o."`
}

// Run is called by kong.
func (c *presetsSearch) Run(p *Program) error {
	return list(p.Stdout, time.Now(), func(row *presets.Profile) bool {
		all := strings.ToLower(strings.Join([]string{string(row.ID), row.Scope, row.Notes, row.Source.Title}, "\n"))
		return strings.Contains(all, strings.ToLower(c.Text))
	}, fmt.Sprintf("no preset has %q", c.Text))
}

func rows() iter.Seq[presets.Profile] {
	return func(yield func(presets.Profile) bool) {
		for _, all := range []iter.Seq2[presets.ID, presets.Profile]{presets.All(), presets.Default().Tiers()} {
			for _, row := range all {
				if !yield(row) {
					return
				}
			}
		}
	}
}

func list(to io.Writer, now time.Time, wanted func(*presets.Profile) bool, none string) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	n := 0
	for row := range rows() {
		if !wanted(&row) {
			continue
		}
		if n++; n == 1 {
			fmt.Fprintln(table, "PRESET\tLIMITS\tAS OF\tAGE")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", row.ID, limits(&row), row.Date(), age(&row, now))
	}
	if n == 0 {
		return &run.UsageError{Err: fmt.Errorf("%s", none)}
	}
	return table.Flush()
}

func limits(row *presets.Profile) string {
	if row.Kind != presets.KindLimits {
		return string(row.Kind)
	}
	return row.Limits.String()
}

// age is how old a row is, in words.
func age(row *presets.Profile, now time.Time) string {
	days := int(row.Age(now) / (24 * time.Hour))
	text := fmt.Sprintf("%d days", days)
	switch {
	case row.AsOf.IsZero():
		return "-"
	case days >= 60:
		text = fmt.Sprintf("%d months", days/30)
	}
	if row.Stale(now) {
		text += ", stale"
	}
	return text
}

type presetsShow struct {
	ID string `arg:"" help:"Such as openai/tier1."`
}

// Run is called by kong.
func (c *presetsShow) Run(p *Program) error {
	row, err := presets.Lookup(c.ID)
	if err != nil && row.ID == "" {
		return &run.UsageError{Err: err}
	}
	hard := ""
	if row.Hard {
		hard = " (a rule to keep, not a limit to find)"
	}
	for _, line := range [][2]string{
		{"preset", string(row.ID)},
		{"limits", limits(&row) + hard},
		{"as of", row.Date() + " (" + age(&row, time.Now()) + ")"},
		{"confidence", string(row.Confidence)},
		{"source", row.Source.Title},
		{"", row.Source.URL},
		{"counted for", row.Scope},
		{"shared by", shared(&row)},
		{"algorithm", row.Algorithm},
		{"tokens", row.Counts},
		{"dialect", string(row.Dialect)},
		{"status", row.Status},
		{"notes", row.Notes},
	} {
		if line[1] != "" {
			fmt.Fprintf(p.Stdout, "%-12s %s\n", line[0], line[1])
		}
	}
	return nil
}

func shared(row *presets.Profile) string {
	if row.Pool == string(row.ID) {
		return ""
	}
	return row.Pool
}
