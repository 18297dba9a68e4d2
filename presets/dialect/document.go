package dialect

import (
	"bytes"
	"net/http"
	"time"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// Bounds on what is read of an answer.
const (
	mostAnswer  = 4 << 20  // a longer one with status 200 is not an error, whatever it holds
	mostError   = 64 << 10 // of an error response
	mostMessage = 2 << 10
	mostCode    = 128
	mostCodes   = 16
	mostDepth   = 12
)

// document is what the body of an answer says about limits. Providers nest
// the same words differently, so within an error they count wherever they stand.
type document struct {
	failed  bool     // it has an error
	record  bool     // with further fields to read: see beside
	stream  bool     // it is server-sent events
	partly  bool     // what was asked for was done in part
	status  int      // of the error; 0: see its codes
	codes   []string // codes, types, statuses and reasons, in lower case; of a URI what follows the "#"
	message string   // all texts, in lower case
	shape   shape
	usage   usage
	quota   quotaFailure
	cost    queryCost
	header  http.Header // that a gateway has put into the body

	retry      time.Duration // google.rpc.RetryInfo
	retryKnown bool
}

// shape is a set of keys by which bodies are recognised.
type shape uint16

const (
	hasObjectError   shape = 1 << iota // "object": "error"
	hasTypeError                       // "type": "error"
	hasRPCDetails                      // "@type": ".../google.rpc..."
	hasMetadata                        // "metadata"
	hasProviderCode                    // "provider_code"
	hasAWSType                         // "__type"
	hasExtensions                      // "extensions"
	hasOK                              // "ok"
	hasParam                           // "param"
	hasDocumentation                   // "documentation_url"
	hasStatusNumber                    // "status" or "code": 429
	hasProblemType                     // "type": "https://..."
	hasUsageMetadata                   // "usageMetadata"
	hasBaseResp                        // "base_resp"
)

func (s shape) all(of shape) bool { return s&of == of }

// read reads a body: JSON, an array of it, or server-sent events with JSON. Anything else is ignored. refused means that the
// status is an error; the body may then be the inner error object alone.
func (d *document) read(body []byte, refused bool) {
	if refused && len(body) > mostError {
		body = body[:mostError]
	}
	body = pastComments(body)
	if bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")) || bytes.HasPrefix(body, []byte("id:")) {
		d.stream = true
		d.readEvents(body)
		return
	}
	at := outermost
	if refused {
		at = withinError
	}
	d.record = len(body) > mostAnswer
	d.walk(&scanner{jsonwalk.At(body)}, at, 0)
}

// tells reports whether an event other than an error may matter.
func tells(data []byte) bool {
	return bytes.Contains(data, []byte(`"usage`)) || bytes.Contains(data, []byte(`"meta"`)) || bytes.Contains(data, []byte(`"base_resp"`))
}

// pastComments skips blank lines and lines that begin with a colon: a provider
// that lets us wait in line keeps the connection alive with them.
func pastComments(b []byte) []byte {
	if len(b) > 0 && b[0] == '{' { // as almost always
		return b
	}
	b = bytes.TrimLeft(b, " \t\r\n\ufeff")
	for len(b) > 0 && b[0] == ':' {
		_, b, _ = bytes.Cut(b, []byte("\n"))
		b = bytes.TrimLeft(b, " \t\r\n")
	}
	return b
}

// readEvents reads the server-sent events that contain an error or usage.
func (d *document) readEvents(body []byte) {
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue
		}
		fails := bytes.Contains(data, []byte(`"error`))
		if !fails && !tells(data) {
			continue
		}
		at := outermost
		if fails && string(jsonwalk.TextOf(data, "type")) == "error" {
			at, d.failed = withinError, true
		}
		d.walk(&scanner{jsonwalk.At(data)}, at, 0)
	}
}
