package dialect

import (
	"bytes"
	"net/http"
	"time"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// Bounds on what is read of an answer.
const (
	mostBody    = 4 << 20  // of an answer whose size is the model's doing
	mostError   = 64 << 10 // of one that says no
	tail        = 4 << 10  // in which the usage stands, where the body is larger than that
	mostMessage = 2 << 10
	mostCode    = 128
	mostCodes   = 16
	mostDepth   = 12
)

// document is what the body of an answer says about limits. Providers nest
// the same words differently, so they count wherever they stand in an error.
type document struct {
	failed  bool     // it has an error
	record  bool     // of which something is told besides: see beside
	top     int      // the depth of its members; 0: they do not matter
	stream  bool     // it is server-sent events
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
)

func (s shape) all(of shape) bool { return s&of == of }

// read takes in a body: JSON, an array of it, server-sent events with JSON, or
// anything else, which says nothing. refused is that the status says no; then
// the body may be the inner error object alone.
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
	if len(body) > mostBody {
		d.readTail(body)
		return
	}
	s := scanner{jsonwalk.At(body)}
	if d.top = 1; s.Peek() == '[' {
		d.top = 2
	}
	d.walk(&s, refused, 0)
}

// pastComments skips blank lines and lines that begin with a colon: a provider
// that lets us wait in line keeps the connection alive with them.
func pastComments(b []byte) []byte {
	b = bytes.TrimLeft(b, " \t\r\n\ufeff")
	for len(b) > 0 && b[0] == ':' {
		_, b, _ = bytes.Cut(b, []byte("\n"))
		b = bytes.TrimLeft(b, " \t\r\n")
	}
	return b
}

// readEvents reads those server-sent events that tell of an error or of usage.
func (d *document) readEvents(body []byte) {
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok || !bytes.Contains(data, []byte(`"error"`)) && !bytes.Contains(data, []byte(`"usage`)) {
			continue
		}
		inner := bytes.Contains(data, []byte(`"type":"error"`)) || bytes.Contains(data, []byte(`"type": "error"`))
		d.failed = d.failed || inner
		d.walk(&scanner{jsonwalk.At(data[:min(len(data), mostBody)])}, inner, 0)
	}
}

// readTail looks for the usage at the end of what is too large to be read
// whole. Within a string the quotes of the key would be escaped.
func (d *document) readTail(body []byte) {
	body = body[len(body)-tail:]
	if i := bytes.LastIndex(body, []byte(`"usage`)); i >= 0 {
		s := scanner{jsonwalk.At(body[i:])}
		if s.Key() != nil && s.Peek() == '{' {
			d.usage.read(&s, 0)
		}
	}
}
