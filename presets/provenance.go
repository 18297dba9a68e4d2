package presets

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/near"
)

func (c *checker) confidence(r *row) {
	if r.Confidence.trust() < 0 {
		c.add(r, "confidence", "%q is not high, medium, low or convention", clip(string(r.Confidence)))
	}
}

// provenance checks where a row comes from, and when.
func (c *checker) provenance(r *row, f *file) {
	source, known := f.sources[r.source]
	if !known {
		hint := "name one of the file's sources"
		if meant := near.Names(r.source, slices.Sorted(maps.Keys(f.sources)), 1); len(meant) > 0 {
			hint = "did you mean " + meant[0] + "?"
		}
		c.add(r, "source", "%q is not a source: %s", clip(r.source), hint)
	}
	page, _, _ := strings.Cut(r.Model, ":") // what follows is one limit of several on the model's page
	r.Source = Source{Title: source.Title, URL: strings.ReplaceAll(source.URL, "<model>", url.PathEscape(page))}

	var ok bool
	r.AsOf, r.precision, ok = parseDate(r.asOf)
	switch {
	case !ok:
		c.add(r, "as_of", "%q is not a date: write 2026-11-20, 2026-11 or 2026, as exactly as it is known", clip(r.asOf))
	case r.AsOf.Year() < 2015:
		c.add(r, "as_of", "%s is too long ago to be right", r.asOf)
	case !f.compiled.IsZero() && !r.AsOf.Before(f.compiled.Add(day)):
		c.add(r, "as_of", "%s is after the date of the file, %s: update compiled", r.asOf, f.compiled.Format(time.DateOnly))
	case c.isAhead(r.AsOf):
		c.add(r, "as_of", "%s has not come yet", r.asOf)
	}
	if r.dated != "" && r.dated != "estimated" {
		c.add(r, "dated", `%q is not understood: write "estimated", or leave it out`, clip(r.dated))
	}
	r.Estimated = r.dated == "estimated"
	c.confidence(r)
}

func (c *checker) sourceIsSane(s Source, at int, field string) {
	if s.Title == "" {
		c.addAt(at, nil, field+".title", "it is missing: name the source")
	}
	if s.URL == "" {
		return
	}
	if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		c.addAt(at, nil, field+".url", "%q is not a web address: leave it empty if there is none", clip(s.URL))
	}
}
