package dialect

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// walk reads a value at a place.
func (d *document) walk(s *scanner, at place, depth int) {
	if depth > mostDepth || at == elsewhere {
		s.Skip()
		return
	}
	switch s.Peek() {
	case '{':
		for s.Open(); s.Next('}'); {
			d.member(s, s.Key(), at, depth+1)
		}
	case '[':
		n := 0
		for s.Open(); s.Next(']'); n++ {
			if depth > 0 && at != withinError {
				s.Skip()
				continue
			}
			d.walk(s, at, depth+1)
		}
		d.record = d.record || n > 1 && depth == 0 && !d.stream
	case '"':
		if t := s.Text(); at == withinError {
			d.say(t)
		}
	default:
		s.Skip()
	}
}

// member takes the value of a key.
func (d *document) member(s *scanner, key []byte, at place, depth int) {
	if at == outermost && !d.stream {
		d.beside(s, key)
	}
	switch string(key) {
	case "error", "errors":
		if at.hasErrors() {
			d.readError(s, depth)
			return
		}
	case "usage", "usage_metadata", "usageMetadata", "billed_units":
		if at.hasUsage() {
			d.readUsage(s, key)
			return
		}
	case "object":
		if (at == outermost || at == withinError) && s.Peek() == '"' {
			d.readObject(s, at)
			return
		}
	case "ok":
		if at == outermost {
			d.shape |= hasOK
		}
	case "base_resp":
		if at == outermost {
			d.readBaseResp(s)
			return
		}
	case "cost":
		if at == withinQuery {
			d.cost.read(s)
			return
		}
	}
	if at == withinError {
		d.errorMember(s, key, depth)
		return
	}
	if string(key) == "extensions" && at == outermost {
		d.shape |= hasExtensions
	}
	if s.Peek() == '{' {
		d.walk(s, at.below(key), depth)
		return
	}
	s.Skip()
}

func (d *document) readUsage(s *scanner, key []byte) {
	if string(key) == "usageMetadata" {
		d.shape |= hasUsageMetadata
	}
	d.usage.read(s, 0)
}

// readObject takes the kind of the answer, which may be that it is an error.
func (d *document) readObject(s *scanner, at place) {
	switch {
	case string(s.Text()) == "error":
		d.failed = true
		d.shape |= hasObjectError
	case at == outermost && !d.stream:
		d.record = true
	}
}

// readError takes what the key error holds: an object, a list of them, or a text.
func (d *document) readError(s *scanner, depth int) {
	switch s.Peek() {
	case '{', '[':
		d.failed = d.failed || !s.Hollow()
		d.walk(s, withinError, depth)
	case '"':
		if t := s.Text(); len(t) > 0 {
			d.failed = true
			d.code(t)
			d.say(t)
		}
	default:
		s.Skip()
	}
}

// errorMember takes the value of a key that counts only in an error.
func (d *document) errorMember(s *scanner, key []byte, depth int) {
	switch string(key) {
	case "code", "type", "status", "error_type", "error_code", "__type", "reason", "provider_code":
		d.readCode(s, key)
	case "detail", "title", "error_description", "msg", "info", "description":
		if s.Peek() == '"' || string(key) == "detail" {
			d.walk(s, withinError, depth)
			return
		}
		s.Skip()
	case "details", "message", "response", "meta", "x_groq":
		d.walk(s, withinError, depth)
	case "extensions":
		d.shape |= hasExtensions
		d.walk(s, withinError, depth)
	case "metadata":
		d.shape |= hasMetadata
		d.walk(s, withinError, depth)
	case "headers":
		d.readHeader(s)
	case "violations":
		d.quota.read(s)
	case "@type":
		if s.Peek() == '"' {
			if bytes.Contains(s.Text(), []byte("google.rpc.")) {
				d.shape |= hasRPCDetails
			}
			return
		}
		s.Skip()
	case "retryDelay":
		if s.Peek() == '"' {
			if delay, err := time.ParseDuration(string(s.Text())); err == nil && delay >= 0 {
				d.retry, d.retryKnown = clamp(delay), true
			}
			return
		}
		s.Skip()
	case "param":
		d.shape |= hasParam
		s.Skip()
	case "documentation_url":
		d.shape |= hasDocumentation
		s.Skip()
	default:
		s.Skip()
	}
}

// readHeader reads header fields and keeps those about limits.
func (d *document) readHeader(s *scanner) {
	if s.Peek() != '{' {
		s.Skip()
		return
	}
	for s.Open(); s.Next('}'); {
		name := http.CanonicalHeaderKey(string(s.Key()))
		limits := strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Retry-After")
		if !limits || s.Peek() != '"' || len(d.header) == mostFields {
			s.Skip()
			continue
		}
		if d.header == nil {
			d.header = http.Header{}
		}
		d.header.Set(name, string(s.Text()))
	}
}

func (d *document) readCode(s *scanner, key []byte) {
	switch c := s.Peek(); {
	case c == '"':
		t := s.Text()
		switch {
		case string(key) == "__type":
			d.shape |= hasAWSType
		case string(key) == "provider_code":
			d.shape |= hasProviderCode
		case string(key) == "type" && string(t) == "error":
			d.shape |= hasTypeError
		case string(key) == "type" && bytes.Contains(t, []byte(":/")):
			d.shape |= hasProblemType
		}
		d.code(t)
	case c >= '0' && c <= '9':
		if string(key) != "provider_code" {
			d.shape |= hasStatusNumber
		}
		d.code(s.Scalar())
	default:
		s.Skip()
	}
}

// code notes what names an error. Of a URI, and of a name with a namespace, it
// is what follows the "#".
func (d *document) code(c []byte) {
	c = c[bytes.LastIndexByte(c, '#')+1:]
	if len(c) > 0 && len(c) <= mostCode && len(d.codes) < mostCodes {
		d.codes = append(d.codes, strings.ToLower(string(c)))
	}
}

// say notes what explains an error.
func (d *document) say(text []byte) {
	if room := mostMessage - len(d.message); room > 0 {
		if d.message != "" {
			d.message += "\n"
		}
		d.message += strings.ToLower(string(text[:min(len(text), room)]))
	}
}
