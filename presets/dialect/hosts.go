package dialect

import (
	"path"
	"strings"
)

// hosts finds the dialect of a host. It is called for every request of a gateway, so that most hosts cost one lookup per domain
// level, and an address or a local name one altogether.
type hosts struct {
	tops     map[string]bool // top-level domains
	domains  map[string]*speaker
	longest  int // of the domains
	patterns []hostPattern
}

// hostPattern is one of path.Match.
type hostPattern struct {
	text, end string // the end is behind the last star
	speaker   *speaker
}

func (t *hosts) add(s *speaker) {
	for _, h := range s.hosts {
		t.tops[top(h)] = true
		if star := strings.LastIndexByte(h, '*'); star >= 0 {
			t.patterns = append(t.patterns, hostPattern{h, h[star+1:], s})
			continue
		}
		t.domains[h] = s
		t.longest = max(t.longest, len(h))
	}
}

// of returns the dialect of a lower-case host, or nil if it is unknown. A test ensures that the tables name each host once, so
// that their order does not matter.
func (t *hosts) of(host string) *speaker {
	if !t.tops[top(host)] {
		return nil
	}
	for domain, more := host, true; more; _, domain, more = strings.Cut(domain, ".") {
		if len(domain) > t.longest {
			continue
		}
		if s := t.domains[domain]; s != nil {
			return s
		}
	}
	for i := range t.patterns {
		p := &t.patterns[i]
		if !strings.HasSuffix(host, p.end) {
			continue
		}
		if ok, err := path.Match(p.text, host); ok && err == nil {
			return p.speaker
		}
	}
	return nil
}

// top returns the last label of a host.
func top(host string) string { return host[strings.LastIndexByte(host, '.')+1:] }
