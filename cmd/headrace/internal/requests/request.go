// Package requests reads files of requests: a line of JSON for each, in the format
// of OpenAI's Batch input or of Anthropic's Message Batches.
package requests

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// Format is the format of a line.
type Format string

// The formats.
const (
	OpenAI    Format = "openai"    // {"custom_id","method","url","body"}
	Anthropic Format = "anthropic" // {"custom_id","params"}
)

// messages is the path to which the params of Anthropic's format are sent.
const messages = "/v1/messages"

// Request is one line.
type Request struct {
	Line int64  // from 1
	ID   string // its custom_id, or a hash of the line if it has none
	URL  string // a path below the base URL, or an absolute URL
	Body string // JSON, as it stands in the line
	Bad  string // why it cannot be sent; empty if it can

	NotObject string // the remedy if the whole file is like this line, which is not a JSON object; empty if it is one
	Foreign   bool   // it is an object that has none of the members of a request, such as {"prompt": "..."}

	Of Format // the format that it has instead of that of the run; empty if it is that one

	Alias string // its key in a journal, if that is not its ID
}

// Key returns the key in a journal. The keys of valid and of invalid requests
// never collide.
func (r *Request) Key() string {
	switch {
	case r.Alias != "":
		return "!" + r.Alias
	case r.Bad != "":
		return "!" + r.ID + "-" + r.Hash()
	}
	return "=" + r.ID
}

// Hash distinguishes different requests with the same custom_id.
func (r *Request) Hash() string {
	text := make([]byte, 0, 1024) // most fit into the stack
	text = append(append(append(text, r.URL...), '\n'), r.Body...)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Model returns the model in the body, or an empty text if there is none.
func (r *Request) Model() string {
	model, _, _ := textOf(memberOf([]byte(r.Body), "model"), "model") // it was already parsed once
	return model
}

// maxID is the maximum length of a custom_id, in bytes: it has to fit into a journal.
const maxID = 512

// parse parses one line. If it is invalid, Bad says why.
func parse(text []byte, n int64, f Format) Request {
	if at := invalidUTF8(text); at >= 0 {
		q := bad(text, n, "the line is not UTF-8 from byte %d on: save the file as UTF-8", at+1)
		q.NotObject = onePerLine
		return q
	}
	if text[0] != '{' || !jsonwalk.Valid(text) {
		if problem, remedy := notObject(text); problem != "" {
			q := bad(text, n, "not a request: %s", problem)
			q.NotObject = remedy
			return q
		}
	}
	line := members(text)
	if line.repeats() {
		return bad(text, n, "the line has two members of the same name: remove one")
	}
	id, found, problem := line.text("custom_id")
	method, withMethod, methodProblem := line.text("method")
	url, _, urlProblem := line.text("url")
	if problem = cmp.Or(problem, methodProblem, urlProblem); problem != "" {
		return bad(text, n, "%s", problem)
	}
	if key := line.misspelt("custom_id"); key != "" {
		return bad(text, n, "%q must be spelled custom_id", key)
	}
	if !found || id == "" {
		q := bad(text, n, "custom_id is missing: it identifies the result")
		q.Foreign = !line.hasAny("custom_id", "method", "url", bodyName(OpenAI), bodyName(Anthropic))
		return q
	}
	if len(id) > maxID {
		return bad(text, n, "custom_id has %d bytes: the maximum is %d", len(id), maxID)
	}
	if strings.ContainsRune(id, 0) {
		return bad(text, n, "custom_id holds a NUL")
	}
	name := bodyName(f)
	if f == Anthropic {
		url = messages
	}
	r := Request{Line: n, ID: id, URL: url, Body: string(line.value(name))}
	switch key, known := line.misspeltOf("method", "url", name); {
	case key != "":
		r.Bad = fmt.Sprintf("%q must be spelled %s", key, known)
	case withMethod && method != http.MethodPost:
		r.Bad = fmt.Sprintf("method is %q: only POST can be sent", method)
	case f == OpenAI && len(line.value("body")) == 0 && len(line.value("params")) > 0:
		r.Bad, r.Of = "body is missing, but params is there: use --format anthropic", Anthropic
	case f == Anthropic && len(line.value("params")) == 0 && len(line.value("body")) > 0:
		r.Bad, r.Of = "params is missing, but body is there: use --format openai", OpenAI
	case r.URL == "":
		r.Bad = `url is missing, such as "/v1/chat/completions"`
	case !strings.HasPrefix(r.URL, "/") && !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://"):
		r.Bad = fmt.Sprintf("url %q has to begin with / or https://", r.URL)
	case climbs(r.URL):
		r.Bad = fmt.Sprintf("url %q could lead out of --base-url: remove . and ..", r.URL)
	case r.Body == "" || r.Body == "null":
		r.Bad = name + " is missing"
	case r.Body[0] != '{':
		r.Bad = name + " is not a JSON object"
	case streams(line.value(name)):
		r.Bad = name + ` has "stream": true: streams cannot be written to a file of results, remove it`
	}
	return r
}

// The remedies for a file whose lines are not JSON objects.
const (
	onePerLine    = "write one JSON object per line"
	fromArray     = onePerLine + `; jq -c ".[]" converts an array` // cmd.exe does not strip single quotes
	fromLines     = fromArray + " of several lines"
	fromSeveral   = onePerLine + "; jq -c . converts objects of several lines"
	separated     = onePerLine + "; jq -c . separates them"
	withoutComma  = onePerLine + ", without a comma after it"
	correctedJSON = "correct the JSON: each line has to be an object"
)

var tooDeep = fmt.Sprintf("it is nested more than %d levels deep, which is the maximum", jsonwalk.MaxNesting) //nolint:gochecknoglobals // a constant

// notObject describes text that is not an object, and how to correct a file of such lines; both are empty if it is one, or null. There
// is no remedy for an object that is nested too deeply.
func notObject(text []byte) (problem, remedy string) {
	remedy = remedyFor(text)
	var line map[string]json.RawMessage
	err := json.Unmarshal(text, &line)
	if err == nil {
		return "", ""
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("it is a JSON %s, not an object", wrong.Value), remedy
	}
	problem = err.Error()
	switch syntax, ok := errors.AsType[*json.SyntaxError](err); {
	case jsonwalk.TooDeep(text):
		if problem = tooDeep; text[0] == '{' {
			remedy = ""
		}
	case strings.HasPrefix(problem, "unexpected end"):
		switch text[0] {
		case '{':
			remedy = fromSeveral
		case '[':
			remedy = fromLines
		}
	case ok:
		if remedy == fromArray { // it is not JSON, which jq could convert
			remedy = onePerLine
		}
		if text[0] == '{' && strings.HasSuffix(problem, "after top-level value") {
			remedy = remedyAfter(text[syntax.Offset-1])
		}
		problem = fmt.Sprintf("%s, at byte %d", problem, syntax.Offset)
	}
	return problem, remedy
}

// remedyAfter returns the remedy for lines that have next after an object.
func remedyAfter(next byte) string {
	switch next {
	case '{':
		return separated
	case ',':
		return withoutComma
	}
	return onePerLine
}

// remedyFor returns the remedy for a file that begins with text, which is not an object.
func remedyFor(text []byte) string {
	switch text[0] {
	case '[':
		return fromArray
	case '{':
		return correctedJSON
	}
	return onePerLine
}

func bodyName(f Format) string {
	if f == Anthropic {
		return "params"
	}
	return "body"
}

// exampleOf returns a request of that format.
func exampleOf(f Format) string {
	const messages = `"messages": [{"role": "user", "content": "TEXT"}]`
	if f == Anthropic {
		return `{"custom_id": "1", "params": {"model": "NAME", "max_tokens": 1000, ` + messages + `}}`
	}
	return `{"custom_id": "1", "url": "/v1/chat/completions", "body": {"model": "NAME", ` + messages + `}}`
}

func streams(body []byte) bool { return string(memberOf(body, "stream")) == "true" }

// bad returns an invalid request, identified by the text of its line.
func bad(text []byte, n int64, format string, args ...any) Request {
	sum := sha256.Sum256(text)
	return Request{Line: n, ID: badID + hex.EncodeToString(sum[:8]), Bad: fmt.Sprintf(format, args...)}
}

// badID begins the ID of a line without a custom_id.
const badID = "line-"
