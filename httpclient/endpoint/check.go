package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
)

// The problems that checkAnswer finds.
var (
	errHTML    = errors.New("the answer is a page of HTML, such as that of a proxy or a login; check BaseURL and Path")
	errFailed  = errors.New("the answer is only an error, although its status is 2xx; Answer.Body has it")
	errNotJSON = errors.New("the answer is not JSON, although its Content-Type says so")
)

// checkAnswer is the default of Config.CheckAnswer.
func checkAnswer(a *Answer) error {
	text := bytes.TrimLeft(a.Body, " \t\r\n\ufeff")
	kind := a.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(kind)
	switch {
	case media == "text/html", media == "application/xhtml+xml", begins(text, "<!doctype html"), begins(text, "<html"):
		return errHTML
	case len(text) > 0 && isJSON(kind) && !json.Valid(text):
		return errNotJSON
	case isError(text):
		return errFailed
	}
	return nil
}

// isError reports whether text is a JSON object with an "error" and no other data:
// only its type, the id of the request, and nulls.
func isError(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("{")) || !bytes.Contains(text[:min(len(text), mostError)], []byte(`"error"`)) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return false
	}
	for name, value := range members {
		switch told := string(value); {
		case told == "null", name == "error", name == "request_id", name == "type" && told == `"error"`:
		default:
			return false
		}
	}
	switch string(members["error"]) {
	case "", "null", "false", "{}", `""`, "[]", "0":
		return false
	}
	return true
}

// mostError is within how many bytes an "error" must begin.
const mostError = 1 << 10

// begins reports whether text begins with a word in lower case, whatever its own case.
func begins(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word))
}
