package dialect

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headrace/headrace/throttle"
)

// mostFields bounds the policies of one answer, and mostField the text of each field.
const (
	mostFields = 16
	mostField  = 4 << 10
)

// policy is one item of RateLimit or of RateLimit-Policy,
// draft-ietf-httpapi-ratelimit-headers.
type policy struct {
	names   []string
	q, r, t int64 // quota, remaining, seconds until reset; or unknown
	unit    string
}

// readRateLimit reads the RateLimit fields of the drafts since 7: "api";r=5;t=30
// with a policy "api";q=100;w=60, or limit=100, remaining=5, reset=30.
func (r *reading) readRateLimit(h http.Header) {
	fields := h["Ratelimit"]
	if len(fields) == 0 {
		return
	}
	quotas := policies(h["Ratelimit-Policy"])
	for _, p := range policies(fields) {
		l := level{unit: throttle.Requests, limit: p.q, remaining: p.r, reset: seconds(p.t)}
		unit := p.unit
		if i := slices.IndexFunc(quotas, p.isOf); i >= 0 {
			l.limit, unit = quotas[i].q, quotas[i].unit
		}
		switch unit {
		case "", "requests":
		case "concurrent-requests":
			l.unit = notAUnit
		default: // bytes: no unit of ours, and nothing that a kind names
			l.unit = throttle.Points
			l.limit = unknown
		}
		r.note(l)
	}
}

func seconds(t int64) time.Duration {
	return time.Duration(min(max(t, 0), int64(longestReset/time.Second))) * time.Second
}

// isOf reports whether p describes the policy q.
func (p *policy) isOf(q policy) bool {
	return slices.ContainsFunc(q.names, func(n string) bool { return slices.Contains(p.names, n) })
}

// policies parses the lines of one field. RFC 9651 comes first; what it does
// not allow is read leniently, since providers send it: Hugging Face puts two
// strings where one name belongs.
func policies(lines []string) []policy {
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	if n == 0 || n > mostField {
		return nil
	}
	if list, err := httpsfv.UnmarshalList(lines); err == nil && len(list) <= mostFields {
		return fromList(list)
	}
	if d, err := httpsfv.UnmarshalDictionary(lines); err == nil {
		if r := integer(d, "remaining"); r != unknown {
			return []policy{{q: integer(d, "limit"), r: r, t: integer(d, "reset")}}
		}
	}
	return lenient(strings.Join(lines, ","))
}

func integer(d *httpsfv.Dictionary, key string) int64 {
	m, ok := d.Get(key)
	if !ok {
		return unknown
	}
	if item, ok := m.(httpsfv.Item); ok {
		return amountOf(item.Value)
	}
	return unknown
}

func fromList(list httpsfv.List) []policy {
	found := make([]policy, 0, len(list))
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		if !ok {
			continue
		}
		p := policy{q: unknown, r: unknown, t: unknown}
		switch v := item.Value.(type) {
		case string:
			p.names = []string{v}
		case httpsfv.Token:
			p.names = []string{string(v)}
		}
		for _, key := range item.Params.Names() {
			v, _ := item.Params.Get(key)
			p.set(key, v)
		}
		found = append(found, p)
	}
	return found
}

// lenient reads what looks like the new form: parts between semicolons are
// parameters if they have an equals sign, and names if not.
func lenient(text string) []policy {
	var found []policy
	for item := range split(text, ',') {
		p := policy{q: unknown, r: unknown, t: unknown}
		for part := range split(item, ';') {
			part = strings.TrimSpace(part)
			key, value, isParam := strings.Cut(part, "=")
			switch {
			case isParam && !strings.HasPrefix(part, `"`):
				value = strings.Trim(value, ` "`)
				if n, err := strconv.ParseInt(value, 10, 64); err == nil {
					p.set(strings.TrimSpace(key), n)
				} else {
					p.set(strings.TrimSpace(key), value)
				}
			case part != "":
				p.names = append(p.names, strings.Trim(part, `"`))
			}
		}
		if found = append(found, p); len(found) == mostFields {
			break
		}
	}
	return found
}

// split cuts text at each separator that stands outside of quotes.
func split(text string, separator byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		from, quoted := 0, false
		for i := range len(text) {
			switch {
			case text[i] == '"':
				quoted = !quoted
			case text[i] == separator && !quoted:
				if !yield(text[from:i]) {
					return
				}
				from = i + 1
			}
		}
		yield(text[from:])
	}
}

func (p *policy) set(key string, value any) {
	switch key {
	case "q":
		p.q = amountOf(value)
	case "r":
		p.r = amountOf(value)
	case "t":
		p.t = amountOf(value)
	case "qu":
		switch v := value.(type) {
		case string:
			p.unit = v
		case httpsfv.Token:
			p.unit = string(v)
		}
	}
}

func amountOf(v any) int64 {
	switch n := v.(type) {
	case int64:
		if n >= 0 && n <= throttle.MaxAmount {
			return n
		}
	case float64:
		if n >= 0 && n <= throttle.MaxAmount {
			return int64(n)
		}
	}
	return unknown
}
