package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// requestID returns the provider's ID of the call.
func requestID(h http.Header) string {
	return cmp.Or(h.Get("X-Request-Id"), h.Get("Request-Id"), h.Get("Apim-Request-Id"))
}

// mostMessage bounds the part of an error's body that is printed, in bytes. The file of failures has all of it.
const mostMessage = 300

// message returns the message of an error, in one line.
func message(status int, body []byte) string {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
		MiniMax struct {
			Message string `json:"status_msg"`
		} `json:"base_resp"`
	}
	_ = json.Unmarshal(body, &doc) // a body that is not JSON has no message
	text := cmp.Or(doc.Message, doc.Detail, doc.MiniMax.Message)
	var inner struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(doc.Error, &inner) == nil && inner.Message != "" {
		text = inner.Message
	} else if word := ""; json.Unmarshal(doc.Error, &word) == nil && word != "" {
		text = word
	}
	return cmp.Or(oneLine(text, mostMessage), strings.TrimSpace("status "+strconv.Itoa(status)+" "+http.StatusText(status)))
}

// mostBody bounds the quoted part of a body that is not JSON, in bytes.
const mostBody = 80

// notJSON describes a body that is not an answer: it is not JSON, or it is neither an object nor an array.
func notJSON(status int, contentType string, body []byte) string {
	if len(body) == 0 {
		return fmt.Sprintf("the response (%d) has no body", status)
	}
	what := "JSON"
	switch {
	case json.Valid(body):
		what = "a JSON object or array"
	case jsonwalk.TooDeep(body):
		what = fmt.Sprintf("JSON of at most %d levels", jsonwalk.MaxNesting)
	}
	kind, _, _ := strings.Cut(contentType, ";")
	return fmt.Sprintf("the response (%d, %s) is not %s: %q", status, cmp.Or(kind, "without a Content-Type"), what, oneLine(string(body[:min(len(body), 4*mostBody)]), mostBody))
}

// oneLine returns text in one line, cut after about the given number of bytes.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

func short(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}
