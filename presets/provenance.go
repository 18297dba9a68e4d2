package presets

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

func (c *checker) confidence(r *row, have Confidence) {
	c.add(r, "confidence", "%q is not high, medium, low or convention", clip(string(have)))
}

// provenance checks where a row comes from, and when.
func (c *checker) provenance(r *row, p *Profile, f file) {
	source, known := f.sources[r.texts["source"]]
	if !known {
		hint := "name one of the file's sources"
		names := make([]string, 0, len(f.sources))
		for name := range f.sources {
			names = append(names, name)
		}
		slices.Sort(names)
		if near := nearest(r.texts["source"], 1, names, spelling); len(near) > 0 {
			hint = "did you mean " + near[0] + "?"
		}
		c.add(r, "source", "%q is not a source: %s", clip(r.texts["source"]), hint)
	}
	page, _, _ := strings.Cut(p.Model, ":") // what follows is one limit of several on the model's page
	p.Source = Source{Title: source.Title, URL: strings.ReplaceAll(source.URL, "<model>", url.PathEscape(page))}

	var ok bool
	p.AsOf, p.Precision, ok = parseDate(r.texts["as_of"])
	compiled, _, _ := parseDate(f.compiled)
	switch {
	case !ok:
		c.add(r, "as_of", "%q is not a date: write 2026-11-20, 2026-11 or 2026, as exactly as it is known", clip(r.texts["as_of"]))
	case p.AsOf.Year() < 2015:
		c.add(r, "as_of", "%s is too long ago to be right", r.texts["as_of"])
	case f.compiled != "" && p.AsOf.After(compiled.Add(day-time.Nanosecond)):
		c.add(r, "as_of", "%s is after the file was compiled, %s: set compiled anew", r.texts["as_of"], f.compiled)
	}
	if dated, given := r.texts["dated"]; given && dated != "estimated" {
		c.add(r, "dated", `%q is not understood: write "estimated", or leave it out`, clip(dated))
	}
	p.Estimated = r.texts["dated"] == "estimated"
	if p.Confidence.trust() < 0 {
		c.confidence(r, p.Confidence)
	}
}

func (c *checker) sourceIsSane(s Source, at int, field string) {
	if s.Title == "" {
		c.addAt(at, nil, field+".title", "it is missing: say who says so")
	}
	if s.URL == "" {
		return
	}
	if u, err := url.Parse(s.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		c.addAt(at, nil, field+".url", "%q is not a web address: leave it empty if there is none", clip(s.URL))
	}
}
