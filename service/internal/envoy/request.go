package envoy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/invalid"
)

// Bounds on what one request may ask for.
const (
	MaxDescriptors = 100
	MaxEntries     = 32            // of a descriptor
	MaxBytes       = 64 << 10      // of the domain and all keys and values
	MaxHits        = 1_000_000_000 // hits_addend of a descriptor; Envoy's own configuration allows no more
)

// check returns what is wrong with a request: *fault.FieldErrors, joined.
func check(r *rls.RateLimitRequest) error {
	p := invalid.Problems{Owner: "envoy"}
	size := len(r.GetDomain())
	if size == 0 {
		p.Addf("domain", "it is empty: set the domain of the rate limit filter")
	}
	switch n := len(r.GetDescriptors()); {
	case n == 0:
		p.Addf("descriptors", "there are none: send at least one")
	case n > MaxDescriptors:
		return &fault.FieldError{Owner: "envoy", Field: "descriptors", Problem: fmt.Sprintf("there are %d: send at most %d", n, MaxDescriptors)}
	}
	for i, d := range r.GetDescriptors() {
		field := func(name string) string { return fmt.Sprintf("descriptors[%d].%s", i, name) }
		switch n := len(d.GetEntries()); {
		case n == 0:
			p.Addf(field("entries"), "there are none: send at least one")
		case n > MaxEntries:
			p.Addf(field("entries"), "there are %d: send at most %d", n, MaxEntries)
		}
		for j, e := range d.GetEntries() {
			if e.GetKey() == "" {
				p.Addf(field(fmt.Sprintf("entries[%d].key", j)), "it is empty: set the descriptor_key of the action")
			}
			size += len(e.GetKey()) + len(e.GetValue())
		}
		if n := d.GetHitsAddend().GetValue(); n > MaxHits {
			p.Addf(field("hits_addend"), "%d is above %d", n, MaxHits)
		}
		if o := d.GetLimit(); o != nil {
			if problem := spanOf(o).problem(); problem != "" {
				p.Addf(field("limit"), "%s", problem)
			}
		}
	}
	if size > MaxBytes {
		p.Addf("descriptors", "the keys and values have %d bytes: send at most %d", size, MaxBytes)
	}
	return p.Err()
}

func spanOf(o *ratelimit.RateLimitDescriptor_RateLimitOverride) span {
	s := span{unit: unit(o.GetUnit()), times: 1}
	if m := o.GetUnitMultiplier(); m != nil {
		s.times = m.GetValue()
	}
	return s
}

// ask is what one descriptor of a request asks for.
type ask struct {
	limit  *limit // nil if none applies
	key    string // of the store
	hits   int64
	own    bool // the descriptor has a hits_addend of its own above 0: it counts, also if it does not fit
	refund bool // is_negative_hits
}

// asks returns what the descriptors of r ask for, in their order.
func (c *Config) asks(r *rls.RateLimitRequest) []ask {
	asks := make([]ask, len(r.GetDescriptors()))
	var replaced map[string]bool
	for i, d := range r.GetDescriptors() {
		a := &asks[i]
		*a = c.find(r.GetDomain(), d)
		if a.limit == nil {
			continue
		}
		a.hits = max(1, int64(r.GetHitsAddend()))
		if own := d.GetHitsAddend(); own != nil {
			a.hits, a.own = int64(own.GetValue()), own.GetValue() > 0 //nolint:gosec // check has bounded it
		}
		a.refund = d.GetIsNegativeHits()
		for _, name := range a.limit.replaces {
			if replaced == nil {
				replaced = map[string]bool{}
			}
			replaced[name] = true
		}
	}
	for i := range asks {
		if l := asks[i].limit; l != nil && !l.unlimited && replaced[l.name] {
			asks[i].limit = nil
		}
	}
	return asks
}

// find returns the limit that applies to a descriptor of a known domain, and the key
// that it is counted under.
func (c *Config) find(domain string, d *ratelimit.RateLimitDescriptor) ask {
	top := c.domains[domain]
	if top == nil {
		return ask{}
	}
	var key strings.Builder
	key.WriteString(prefix)
	escape(&key, domain)
	override := d.GetLimit() != nil
	at := top
	for _, e := range d.GetEntries() {
		value := e.GetValue()
		if !override {
			if at = at.next(e.GetKey(), value); at == nil {
				return ask{}
			}
			if at.pattern != "" {
				value = at.pattern
			}
		}
		key.WriteByte('/')
		escape(&key, e.GetKey())
		key.WriteByte('=')
		escape(&key, value)
	}
	if !override {
		return ask{limit: at.limit, key: shortened(key.String())}
	}
	s := spanOf(d.GetLimit())
	most := d.GetLimit().GetRequestsPerUnit()
	key.WriteString("?per=" + strconv.FormatInt(int64(s.duration()/time.Second), 10))
	return ask{key: shortened(key.String()), limit: &limit{path: domain + " (limit of the request)", span: s, limits: s.limits(most), message: s.message("", most)}}
}

// prefix begins the keys of the store.
const prefix = "envoy/"

// maxKey is how many bytes of a key are kept as they are: clients of Envoy choose values such as a path, and every
// different one is a key.
const maxKey = 256

// shortened is key, or its beginning and its hash. The # of a key is escaped otherwise.
func shortened(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return strings.ToValidUTF8(key[:maxKey-1-hex.EncodedLen(len(sum))], "") + "#" + hex.EncodeToString(sum[:])
}

// escape writes s so that keys stay readable and different descriptors never have the same.
func escape(b *strings.Builder, s string) {
	for i := range len(s) {
		switch c := s[i]; c {
		case '/', '=', '?', '%', '#':
			fmt.Fprintf(b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
}
