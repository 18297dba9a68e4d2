// Package requests reads files of requests: a line of JSON for each, in the form
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
)

// Format is what a line looks like.
type Format string

// The formats.
const (
	OpenAI    Format = "openai"    // {"custom_id","method","url","body"}
	Anthropic Format = "anthropic" // {"custom_id","params"}
)

// messages is where the params of Anthropic's form go.
const messages = "/v1/messages"

// Request is one line.
type Request struct {
	Line int64  // from 1
	ID   string // its custom_id; of one that has none, a hash of the line
	URL  string // below the base URL, or as a whole
	Body string // JSON, as it stands in the line
	Bad  string // why it cannot be sent; empty: it can

	Alias string // what a journal knows it by, where that is not its ID
}

// Key is what a journal knows it by. No custom_id of a request that can be sent is like that of
// a bad one.
func (r *Request) Key() string {
	switch {
	case r.Alias != "":
		return "!" + r.Alias
	case r.Bad != "":
		return "!" + r.ID + "-" + r.Hash()
	}
	return "=" + r.ID
}

// Hash tells requests of one custom_id apart that ask for different things.
func (r *Request) Hash() string {
	text := make([]byte, 0, 1024) // most fit into the stack
	text = append(append(append(text, r.URL...), '\n'), r.Body...)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Model is what the body asks for; empty if it does not say.
func (r *Request) Model() string {
	model, _, _ := members([]byte(r.Body)).text("model") // it was read once already
	return model
}

// maxID is how long a custom_id may be, in bytes: it has to fit into a journal.
const maxID = 512

// parse reads one line. What is wrong with it is in Bad.
func parse(text []byte, n int64, f Format) Request {
	if at := invalidUTF8(text); at >= 0 {
		return bad(text, n, "the line is not UTF-8 from byte %d on: save the file as UTF-8", at+1)
	}
	if text[0] != '{' || !json.Valid(text) {
		if problem := notObject(text); problem != "" {
			return bad(text, n, "it is no request: %s", problem)
		}
	}
	line := members(text)
	if line.repeats() {
		return bad(text, n, "the line has two members of the same name: leave one")
	}
	id, found, problem := line.text("custom_id")
	method, withMethod, methodProblem := line.text("method")
	url, _, urlProblem := line.text("url")
	if problem = cmp.Or(problem, methodProblem, urlProblem); problem != "" {
		return bad(text, n, "%s", problem)
	}
	if key := line.misspelt("custom_id"); key != "" {
		return bad(text, n, "%q has to be spelt custom_id", key)
	}
	if !found || id == "" {
		return bad(text, n, "custom_id is missing: results are found by it")
	}
	if len(id) > maxID {
		return bad(text, n, "custom_id has %d bytes: the most is %d", len(id), maxID)
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
		r.Bad = fmt.Sprintf("%q has to be spelt %s", key, known)
	case withMethod && method != http.MethodPost:
		r.Bad = fmt.Sprintf("method is %q: only POST can be sent", method)
	case f == OpenAI && len(line.value("body")) == 0 && len(line.value("params")) > 0:
		r.Bad = "body is missing, but params is there: use --format anthropic"
	case r.URL == "":
		r.Bad = `url is missing, such as "/v1/chat/completions"`
	case !strings.HasPrefix(r.URL, "/") && !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://"):
		r.Bad = fmt.Sprintf("url %q has to begin with / or https://", r.URL)
	case climbs(r.URL):
		r.Bad = fmt.Sprintf("url %q could lead out of --base-url: leave out . and ..", r.URL)
	case r.Body == "" || r.Body == "null":
		r.Bad = name + " is missing"
	case r.Body[0] != '{':
		r.Bad = name + " is no JSON object"
	case streams(line.value(name)):
		r.Bad = name + ` says "stream": true: a file of results has no use for a stream, leave it out`
	}
	return r
}

// notObject says what text is in place of an object; empty if it is one, or null.
func notObject(text []byte) string {
	var line map[string]json.RawMessage
	wrong := (*json.UnmarshalTypeError)(nil)
	switch err := json.Unmarshal(text, &line); {
	case errors.As(err, &wrong):
		return fmt.Sprintf("it is a JSON %s, and no object", wrong.Value)
	case err != nil:
		return err.Error()
	}
	return ""
}

func bodyName(f Format) string {
	if f == Anthropic {
		return "params"
	}
	return "body"
}

func streams(body []byte) bool { return string(members(body).value("stream")) == "true" }

// bad is a line that is known by its text alone.
func bad(text []byte, n int64, format string, args ...any) Request {
	sum := sha256.Sum256(text)
	return Request{Line: n, ID: badID + hex.EncodeToString(sum[:8]), Bad: fmt.Sprintf(format, args...)}
}

// badID begins the name of a line without a custom_id.
const badID = "line-"
