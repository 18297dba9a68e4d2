package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/node"
)

// Result is what became of one request.
type Result = node.Result[requests.Request, Answer]

type line struct {
	ID       string    `json:"id"`
	CustomID string    `json:"custom_id"`
	Response *response `json:"response"`
	Error    *problem  `json:"error"`
}

type response struct {
	StatusCode int             `json:"status_code"`
	RequestID  string          `json:"request_id"`
	Body       json.RawMessage `json:"body"`
}

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Line    int64  `json:"line,omitempty"`
}

// lineOf is the line of a result, and whether it is one for the errors. It is
// the same whenever it is written: the id comes from the request's.
func lineOf(r *Result) (text []byte, failed bool) {
	sum := sha256.Sum256([]byte(r.In.Key()))
	l := line{ID: "req_" + hex.EncodeToString(sum[:12]), CustomID: r.In.ID}
	if r.State == node.Failed {
		f := FailureOf(r.Err)
		l.Error = &problem{f.Code, f.Message, f.Line}
		if f.StatusCode > 0 {
			l.Response = &response{f.StatusCode, f.RequestID, json.RawMessage(orNull(f.Text))}
		}
	} else {
		l.Response = &response{r.Out.Status, r.Out.RequestID, json.RawMessage(orNull(r.Out.Body))}
	}
	return append([]byte(encode(l)), '\n'), r.State == node.Failed
}

// begin is how each line begins.
const begin = `{"id":"req_`

// Foreign reports whether the file at path holds something else than lines of this package.
func Foreign(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false // to open a pipe waits for who writes into it
	}
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	got := make([]byte, len(begin))
	n, _ := io.ReadFull(f, got) // a line that a kill has cut may be shorter
	return !strings.HasPrefix(begin, string(got[:n]))
}

func orNull(body string) string {
	if body == "" {
		return "null"
	}
	return body
}
