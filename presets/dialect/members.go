package dialect

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// walk takes a value; inside is that it belongs to an error.
func (d *document) walk(s *scanner, inside bool, depth int) {
	if depth > mostDepth {
		s.Skip()
		return
	}
	switch s.Peek() {
	case '{':
		for s.Open(); s.Next('}'); {
			d.member(s, s.Key(), inside, depth+1)
		}
	case '[':
		n := 0
		for s.Open(); s.Next(']'); n++ {
			d.walk(s, inside, depth+1)
		}
		d.record = d.record || n > 1 && depth == 0 && d.top > 0
	case '"':
		if t := s.Text(); inside {
			d.say(t)
		}
	default:
		s.Skip()
	}
}

// member takes the value of a key.
func (d *document) member(s *scanner, key []byte, inside bool, depth int) {
	if depth == d.top && !inside {
		d.beside(s, key)
	}
	switch string(key) {
	case "error", "errors":
		d.readError(s, depth)
	case "usageMetadata":
		d.shape |= hasUsageMetadata
		d.usage.read(s, depth)
	case "usage", "usage_metadata", "billed_units":
		d.usage.read(s, depth)
	case "meta", "x_groq", "response":
		d.walk(s, inside, depth)
	case "extensions":
		d.shape |= hasExtensions
		d.walk(s, inside, depth)
	case "cost":
		d.cost.read(s)
	case "object":
		if s.Peek() == '"' {
			if string(s.Text()) == "error" {
				d.failed = true
				d.shape |= hasObjectError
			} else if depth == d.top {
				d.record = true
			}
			return
		}
		s.Skip()
	case "ok":
		d.shape |= hasOK
		s.Skip()
	case "message":
		if inside || s.Peek() == '{' { // of Anthropic's event message_start
			d.walk(s, inside, depth)
			return
		}
		s.Skip()
	default:
		if !inside {
			s.Skip()
			return
		}
		d.errorMember(s, key, depth)
	}
}

// readError takes what the key error holds: an object, a list of them, or a text.
func (d *document) readError(s *scanner, depth int) {
	switch s.Peek() {
	case '{', '[':
		d.failed = d.failed || !s.Hollow()
		d.walk(s, true, depth)
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
			d.walk(s, true, depth)
			return
		}
		s.Skip()
	case "details":
		d.walk(s, true, depth)
	case "metadata":
		d.shape |= hasMetadata
		d.walk(s, true, depth)
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

// readHeader takes header fields, and keeps those that tell of limits.
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
