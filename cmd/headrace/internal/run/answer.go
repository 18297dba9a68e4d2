package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// requestID is the provider's own id of the call.
func requestID(h http.Header) string {
	return cmp.Or(h.Get("X-Request-Id"), h.Get("Request-Id"), h.Get("Apim-Request-Id"))
}

// mostMessage bounds what is told of an error's body, in bytes. The whole of it is in the file.
const mostMessage = 300

// message is what an error says, in one line.
func message(status int, body []byte) string {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	_ = json.Unmarshal(body, &doc) // what is no JSON says nothing
	text := cmp.Or(doc.Message, doc.Detail)
	var inner struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(doc.Error, &inner) == nil && inner.Message != "" {
		text = inner.Message
	} else if word := ""; json.Unmarshal(doc.Error, &word) == nil && word != "" {
		text = word
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > mostMessage {
		text = strings.ToValidUTF8(text[:mostMessage], "") + "..."
	}
	return cmp.Or(text, strings.TrimSpace("status "+strconv.Itoa(status)+" "+http.StatusText(status)))
}

func short(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}
