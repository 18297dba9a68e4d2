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

What providers allow, as far as it is known: %d rows of %d providers. This page is generated from
[presets/facts.json](../presets/facts.json).

Numbers move, and yours may be others: look at the limits page of your account. A preset is where a limiter starts;
the provider's headers and refusals move it both ways. One that is marked **hard** is a rule to keep, because whoever
goes faster is banned or a nuisance instead of being refused; its limits are caps.

- Limits are written as [throttle.ParseLimits](https://pkg.go.dev/github.com/headrace/headrace/throttle#ParseLimits) reads
  them. A window slides unless the day is known to begin at a certain hour; then it is fixed. A month is 31 days.
- As of: when the source said so. A ~ marks an estimate, the earliest date that is plausible, where the source bears none.
- Source: the number leads to it, and stands for the title under the table.
- Confidence: *high*, read in the provider's own text; *medium*, from a dated copy, or derived; *low*, old, or sources
  disagree; *convention*, nobody's limit.
- A name without a model, such as ` + "`openai/tier1`" + `, stands for the whole tier: the least that the rows marked **main** allow.
- Names are found whatever their case, by ` + "`presets.Lookup`" + `; tiers and main models have constants, such as
  ` + "`presets.OpenAITier1`" + `.

## Refresh a number, or add your own

Edit the row in presets/facts.json: the number, ` + "`source`" + `, ` + "`as_of`" + ` and ` + "`confidence`" + `, and ` + "`compiled`" + ` at its head. Then run
` + "`go generate ./presets && go test ./presets/... ./internal/presetgen`" + `. The tests check every row and fail while this page or
a constant is out of date.

Your own file has the same form, is read by ` + "`presets.Parse`" + ` and laid over the table by ` + "`presets.Default().With(table)`" + `.
Profiles made in Go do the same through ` + "`presets.New`" + `.

| field | meaning |
|---|---|
| id | provider/tier/model or provider/tier, in lower case; provider, tier and model repeat its parts |
| source, as_of, dated, confidence | where the row comes from, and when; dated is "estimated" or left out |
| rps, per_10s, rpm, per_5min, rph, rpd, per_month | requests in a second, 10 seconds, a minute, 5 minutes, an hour, a day, a month |
| tpm, tpd | tokens in a minute, a day; of input only where counts is "input tokens" |
| itpm, uncached_itpm, otpm | tokens of input, and of output, in a minute |
| points_per_s, points_per_min, ipm, inputs_per_min, audio_s_per_hour, audio_s_per_day | points: whatever the provider weighs, images, inputs, seconds of audio |
| concurrency, min_interval_s | calls in flight; the least time between two of them |
| burst | how many may go at once: makes the shortest window of requests a bucket |
| batch_queue_tokens, batch_queue_requests, rpm_per_1k_tpm | kept as facts, for they are no windows |
| reset | when a day begins, such as "midnight America/Los_Angeles" |
| main, constant, hard | counts for the tier; has a constant though it does not; is a rule to keep |
| kind | "info": no numbers are published; "unavailable": refused at once |
| dialect | how limits are reported, if not as the provider does |
| scope, pool | whom the provider counts together, in words; rows of one pool draw on one quota |
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
		add("", fmt.Sprintf("%s %d", strings.ReplaceAll(string(fact), "_", " "), p.Extra[fact]))
	}
	if isRow && p.Pool != string(p.ID) {
		add("pool ", "`"+p.Pool+"`")
	}
	return strings.Join(said, "; ")
}
