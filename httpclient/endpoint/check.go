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
	}
	return nil
}

// begins reports whether text begins with a word in lower case, whatever its own case.
func begins(text []byte, word string) bool {
	return len(text) >= len(word) && bytes.EqualFold(text[:len(word)], []byte(word))
}
