package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
	"github.com/headrace/headrace/presets"
)

type presetsCommand struct {
	List   presetsList   `cmd:"" help:"List the presets of all providers, or of one provider, with their age."`
	Show   presetsShow   `cmd:"" help:"Show a preset, with its source and its age."`
	Search presetsSearch `cmd:"" help:"List the presets with a text in their name, scope or notes."`
}

// Help is printed by --help after the list of flags.
func (*presetsCommand) Help() string {
	return `A preset holds the limits that a provider has published, with their date and source; a run starts from them. "info" rows are not limits. Check stale presets against the provider's documentation, because limits change.

Examples:
  headrace presets list openai
  headrace presets search gpt-4o-mini
  headrace presets show openai/tier1
  headrace run requests.jsonl --preset openai/tier1`
}

type presetsList struct {
	Provider string `arg:"" optional:"" help:"Such as openai."`
}

// Run is called by kong.
func (c *presetsList) Run(p *Program) error {
	return list(p.Stdout, time.Now(), func(row *presets.Profile) bool {
		return c.Provider == "" || strings.EqualFold(row.Provider, c.Provider)
	},
		fmt.Sprintf("no preset belongs to %q%s there are %s", c.Provider, cmp.Or(meant(strings.ToLower(c.Provider), presets.Default().Providers()), ";"), strings.Join(presets.Default().Providers(), ", ")))
}

type presetsSearch struct {
	Text string `arg:"" help:"The text to look for, in upper or lower case, such as gpt-4o."`
}

// Run is called by kong.
func (c *presetsSearch) Run(p *Program) error {
	return list(p.Stdout, time.Now(), func(row *presets.Profile) bool {
		all := strings.ToLower(strings.Join([]string{string(row.ID), row.Scope, row.Notes, row.Source.Title}, "\n"))
		return strings.Contains(all, strings.ToLower(c.Text))
	}, fmt.Sprintf("no preset contains %q: headrace presets list shows all", c.Text))
}

func rows() iter.Seq[presets.Profile] {
	return func(yield func(presets.Profile) bool) {
		for _, all := range []iter.Seq2[presets.ID, presets.Profile]{presets.Default().All(), presets.Default().Tiers()} {
			for _, row := range all {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// list writes a table for each provider, narrow enough for a terminal.
func list(to io.Writer, now time.Time, wanted func(*presets.Profile) bool, none string) error {
	all := map[string][]presets.Profile{}
	for row := range rows() {
		if wanted(&row) {
			all[row.Provider] = append(all[row.Provider], row)
		}
	}
	if len(all) == 0 {
		return &run.UsageError{Err: errors.New(none)}
	}
	for i, provider := range slices.Sorted(maps.Keys(all)) {
		if i > 0 {
			fmt.Fprintln(to)
		}
		table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "PRESET\tAGE\tLIMITS")
		for _, row := range all[provider] {
			fmt.Fprintf(table, "%s\t%s\t%s\n", row.ID, strings.NewReplacer(" days", "d", " months", "mo").Replace(age(&row, now)), brief(limits(&row)))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// brief writes 200000 tokens as 200k, which --limit accepts too.
func brief(limits string) string {
	words := strings.Split(limits, ", ")
	for i, word := range words {
		digits := len(word) - len(strings.TrimLeft(word, "0123456789"))
		switch number, rest := word[:digits], word[digits:]; {
		case strings.HasSuffix(number, "000000"):
			words[i] = strings.TrimSuffix(number, "000000") + "m" + rest
		case strings.HasSuffix(number, "000"):
			words[i] = strings.TrimSuffix(number, "000") + "k" + rest
		}
	}
	return strings.Join(words, ", ")
}

func limits(row *presets.Profile) string {
	if row.Kind != presets.KindLimits {
		return string(row.Kind)
	}
	return row.Limits.String()
}

// age returns the age of a row, in words.
func age(row *presets.Profile, now time.Time) string {
	days := int(now.Sub(row.AsOf) / (24 * time.Hour))
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
		return &run.UsageError{Err: errors.New(settings.Plain(err))}
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
		name := line[0]
		for _, text := range wrapped(line[1]) {
			if _, err := fmt.Fprintf(p.Stdout, "%-12s %s\n", name, text); err != nil {
				return err
			}
			name = ""
		}
	}
	return nil
}

// wrapped breaks text into lines that fit beside a name. A longer word gets a line of its own.
func wrapped(text string) (lines []string) {
	const width = 80 - len("counted for  ")
	for word := range strings.FieldsSeq(text) {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= width {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

func shared(row *presets.Profile) string {
	if row.Pool == string(row.ID) {
		return ""
	}
	return row.Pool
}
