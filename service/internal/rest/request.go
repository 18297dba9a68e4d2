package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/document"
	"github.com/headrace/headrace/service/internal/decide"
)

// bad is an error about a field of a request.
func bad(field, format string, args ...any) error {
	return &fault.FieldError{Owner: "service", Field: field, Problem: fmt.Sprintf(format, args...)}
}

func index(name string, i int) string { return name + "[" + strconv.Itoa(i) + "]" }

var (
	errTooLong = errors.New("the body is too long")
	errSlow    = errors.New("the body did not arrive in time")
)

// decode decodes a body, which is one JSON value.
func decode(body io.Reader, into any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			return bad("body", "more follows the JSON value: send one value")
		}
	}
	if f, ok := errors.AsType[*fault.FieldError](err); ok {
		return f
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		name := e.Field
		if name == "" {
			name = "body"
		}
		return bad(name, "it is %s: write %s", article(e.Value), wanted(e.Type.String()))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		text, _ := strconv.Unquote(name)
		if text == "" {
			return bad("body", "a field has no name")
		}
		return bad(document.Clip(text), "the field is unknown: the fields are in docs/service.md")
	}
	if errors.Is(err, io.EOF) {
		return bad("body", "it is empty: send JSON")
	}
	if errors.As(err, new(*json.SyntaxError)) || errors.Is(err, io.ErrUnexpectedEOF) {
		return bad("body", "it is not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return err
}

func article(kind string) string {
	if strings.HasPrefix(kind, "number ") {
		return "the " + document.Clip(kind)
	}
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

func wanted(kind string) string {
	switch {
	case strings.HasSuffix(kind, "int64"):
		return "a whole number"
	case strings.HasSuffix(kind, "float64"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "string":
		return "a text"
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	default:
		return "an object"
	}
}

// metadata is an object of texts and numbers. What else it has is left out.
type metadata map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *metadata) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return bad("metadata", "it is not an object of texts")
	}
	if len(all) > decide.MaxMeta {
		return bad("metadata", "%d entries are more than %d", len(all), decide.MaxMeta)
	}
	*m = metadata{}
	for key, raw := range all {
		var text string
		var number json.Number
		switch {
		case len(raw) > 0 && raw[0] == '"':
			if json.Unmarshal(raw, &text) == nil {
				(*m)[key] = text
			}
		case json.Unmarshal(raw, &number) == nil && number != "":
			(*m)[key] = number.String()
		}
	}
	return nil
}

// checkIn is a check as it is sent.
type checkIn struct {
	Scope      string   `json:"scope"`
	Identifier string   `json:"identifier"`
	Resource   string   `json:"resource"`
	Tokens     *int64   `json:"tokens"`
	Metadata   metadata `json:"metadata"`
	DryRun     bool     `json:"dry_run"`
}

func (c *checkIn) check(at string) (decide.Check, error) {
	tokens := int64(1)
	if c.Tokens != nil {
		if tokens = *c.Tokens; tokens < 1 || tokens > decide.MaxTokens {
			return decide.Check{}, bad(at+"tokens", "%d is not between 1 and %d", tokens, decide.MaxTokens)
		}
	}
	return decide.Check{Scope: c.Scope, Identifier: c.Identifier, Resource: c.Resource, Tokens: tokens, Metadata: c.Metadata, DryRun: c.DryRun}, nil
}

// allIn is several checks that are decided together: a list, an object with checks, or
// one with a hierarchy that has its identifiers in the metadata. An acquire may have one
// check in it.
type allIn struct{ together }

type together struct {
	Checks    []checkIn `json:"checks"`
	Hierarchy []checkIn `json:"hierarchy"`
	MaxWait   *float64  `json:"max_wait_seconds"`
	checkIn
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *allIn) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
		return d.Decode(&a.Checks)
	}
	return d.Decode(&a.together)
}

func (a *allIn) list() ([]decide.Check, error) {
	one := a.Scope != "" || a.Identifier != "" || a.Resource != ""
	name, list := "checks", a.Checks
	switch {
	case a.Checks != nil && a.Hierarchy != nil:
		return nil, bad("hierarchy", "it is set together with checks: leave one of them out")
	case one && (a.Checks != nil || a.Hierarchy != nil):
		return nil, bad("checks", "they are set together with one check: put that into the list")
	case one:
		c, err := a.check("")
		return []decide.Check{c}, err
	case a.Hierarchy != nil:
		name, list = "hierarchy", a.Hierarchy
	case a.Checks == nil:
		return nil, bad("checks", "there are none: give a list of {scope, identifier, resource, tokens}")
	}
	if len(list) == 0 || len(list) > decide.MaxTogether {
		return nil, bad(name, "%d checks are not between 1 and %d", len(list), decide.MaxTogether)
	}
	all := make([]decide.Check, len(list))
	for i := range list {
		c := list[i]
		if c.Metadata == nil {
			c.Metadata = a.Metadata
		}
		if c.Tokens == nil {
			c.Tokens = a.Tokens
		}
		c.DryRun = c.DryRun || a.DryRun
		var err error
		if all[i], err = c.check(index(name, i) + "."); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// wait is how long an acquire waits.
func (a *allIn) wait() (time.Duration, error) {
	const normal = 10 * time.Second
	if a.MaxWait == nil {
		return normal, nil
	}
	s := *a.MaxWait
	if !(s >= 0 && s <= decide.MaxWait.Seconds()) {
		return 0, bad("max_wait_seconds", "%g is not between 0 and %g", s, decide.MaxWait.Seconds())
	}
	return time.Duration(math.Round(s * float64(time.Second))), nil
}

// amounts is a number or a list of numbers.
type amounts []int64

// UnmarshalJSON implements json.Unmarshaler.
func (a *amounts) UnmarshalJSON(data []byte) error {
	var one int64
	if json.Unmarshal(data, &one) == nil && string(data) != "null" {
		*a = amounts{one}
		return nil
	}
	var list []int64
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		return bad("tokens_used", "it is neither a whole number nor a list of them")
	}
	*a = list
	return nil
}
