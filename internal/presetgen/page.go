package main

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/presets"
)

const head = `# Presets

The documented rate limits of %[2]d providers, in %[1]d rows. This page is generated from
[presets/facts.json](../presets/facts.json).

Limits change, and those of your account may differ: check its limits page. A preset is the starting point of a limiter; the
provider's headers and rate-limit responses move it up and down. The limits of a preset marked **hard** are never
exceeded, because going faster gets you banned instead of a 429.

- Limits are written as [throttle.ParseLimits](https://pkg.go.dev/github.com/headrace/headrace/throttle#ParseLimits) reads
  them. A window slides unless the day is known to begin at a certain hour; then it is fixed. A month is 31 days.
- As of: the date of the source. A ~ marks an estimate: the source has no date, and this is the earliest plausible one.
- Source: a link; its title is below the table.
- Confidence: *high*, from the provider's own documentation; *medium*, from a dated copy, or derived; *low*, old, or sources
  disagree; *convention*, a usual number and not a limit of a provider.
- A name without a model, such as ` + "`openai/tier1`" + `, stands for the whole tier: the lowest limits of the rows marked **main**.
- Every name of the table is a ` + "`presets.ID`" + `, such as ` + "`\"github/actions\"`" + `; an unknown one is an error with the nearest names. The tiers
  of the providers listed in ` + "`constants`" + ` of facts.json, which are used most, have constants too, such as ` + "`presets.OpenAITier1`" + `.
- Models have no constants, because they come and go: the method of a tier
  ` + "`ForModel(\"gpt-4o\")`" + ` finds the row of a model, also by a name with a version such as gpt-4o-2024-08-06, and an unknown
  model is an error with the nearest names. ` + "`presets.Lookup`" + ` takes any name of the table, in any case.

## Refresh a number, or add your own

Edit the row in presets/facts.json: the number, ` + "`source`" + `, ` + "`as_of`" + ` and ` + "`confidence`" + `, and ` + "`compiled`" + ` at its head. Then run
` + "`go generate ./presets && go test ./presets/... ./internal/presetgen`" + `. The tests check every row and fail while this page or
a constant is out of date.

Your own file has the same form, is read by ` + "`presets.Parse`" + ` and added to the table by ` + "`presets.Default().With(table)`" + `.
Profiles made in Go do the same through ` + "`presets.New`" + `.

| field | meaning |
|---|---|
| id, provider, tier, model | id is provider/tier/model or provider/tier, in lower case; the others default to its parts |
| source, as_of, dated, confidence | where the row comes from, and when; dated is "estimated" or left out |
| rps, per_10s, rpm, per_5min, rph, rpd, per_month | requests in a second, 10 seconds, a minute, 5 minutes, an hour, a day, a month |
| tpm, tpd | tokens in a minute, a day; of input only where counts is "input tokens" |
| itpm, uncached_itpm, otpm | tokens of input, and of output, in a minute |
| points_per_s, points_per_min, ipm, inputs_per_min, audio_s_per_hour, audio_s_per_day | points: units other than requests and tokens, such as images, inputs, seconds of audio |
| concurrency, min_interval_s | calls in flight; the minimum time between two of them |
| burst | calls that may be sent at once: makes the shortest window of requests a token bucket |
| batch_queue_tokens, batch_queue_requests, rpm_per_1k_tpm | kept in ` + "`Profile.Extra`" + `: these are not windows |
| reset | when a day begins, such as "midnight America/Los_Angeles" |
| main, hard | counts for the tier; is a hard limit |
| kind | "info": no numbers are published; "unavailable": every call is rejected |
| dialect | how limits are reported; the default is the dialect of the provider |
| scope, pool | what the provider counts together, in words; rows with the same pool share one quota |
| algorithm, window, counts, status, notes | in words |
`

// page writes docs/presets.md.
func page(t *presets.Table) []byte {
	rows := maps.Collect(t.All())
	tiers := maps.Collect(t.Tiers())
	var b bytes.Buffer
	fmt.Fprintf(&b, head, len(rows), len(t.Providers()))
	for _, provider := range t.Providers() {
		fmt.Fprintf(&b, "\n## %s\n\n| preset | limits | counted together | as of | confidence | source | notes |\n|---|---|---|---|---|---|---|\n", provider)
		var titles []string
		for _, id := range slices.Sorted(maps.Keys(both(rows, tiers))) {
			p, isRow := rows[id]
			if !isRow {
				p = tiers[id]
			}
			if p.Provider == provider {
				if !slices.Contains(titles, p.Source.Title) {
					titles = append(titles, p.Source.Title)
				}
				line(&b, p, isRow, slices.Index(titles, p.Source.Title)+1)
			}
		}
		b.WriteString("\n")
		for i, title := range titles {
			fmt.Fprintf(&b, "%d. %s\n", i+1, title)
		}
	}
	return b.Bytes()
}

func both(a, b map[presets.ID]presets.Profile) map[presets.ID]presets.Profile {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// line writes one row of a table; source is its number in the list below.
func line(b *bytes.Buffer, p presets.Profile, isRow bool, source int) {
	name := "`" + string(p.ID) + "`"
	switch {
	case !isRow:
		name += " *tier*"
	case p.Main:
		name += " **main**"
	}
	if p.Hard {
		name += " **hard**"
	}
	date := p.Date()
	if p.Estimated {
		date = "~" + date
	}
	cells := []string{name, limits(p), p.Scope, date, string(p.Confidence), link(source, p.Source.URL), words(p, isRow)}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func limits(p presets.Profile) string {
	switch p.Kind {
	case presets.KindInfo:
		return "no numbers"
	case presets.KindUnavailable:
		return "unavailable"
	case presets.KindLimits:
	}
	text := zeros.ReplaceAllStringFunc(p.Limits.String(), short)
	if p.PointsUnit != "" && p.PointsUnit != "points" {
		text = strings.ReplaceAll(text, "points", p.PointsUnit)
	}
	return text
}

// zeros finds what is easier to read with a suffix: 10000 and above.
var zeros = regexp.MustCompile(`\b[0-9]{2,}000\b`)

func short(number string) string {
	if millions, ok := strings.CutSuffix(number, "000000"); ok && millions != "" {
		return millions + "M"
	}
	return strings.TrimSuffix(number, "000") + "k"
}

func link(number int, url string) string {
	if url == "" {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("[%d](%s)", number, url)
}

func words(p presets.Profile, isRow bool) string {
	var said []string
	add := func(before, s string) {
		if s != "" {
			said = append(said, before+s)
		}
	}
	add("", p.Status)
	add("", p.Notes)
	add("counts ", p.Counts)
	add("", p.Algorithm)
	for _, fact := range slices.Sorted(maps.Keys(p.Extra)) {
		add("", fmt.Sprintf("%s %d", strings.ReplaceAll(fact, "_", " "), p.Extra[fact]))
	}
	if isRow && p.Pool != string(p.ID) {
		add("pool ", "`"+p.Pool+"`")
	}
	return strings.Join(said, "; ")
}
