package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/node"
)

// Result is what became of one request.
type Result = node.Result[requests.Request, Answer]

// line is one of OpenAI's Batch output: https://platform.openai.com/docs/api-reference/batch/request-output.
type line struct {
	ID       string    `json:"id"`
	CustomID string    `json:"custom_id"`
	Response *response `json:"response"` // null if there was none that could be used
	Error    *problem  `json:"error"`    // of a failure that is not an HTTP status
}

type response struct {
	StatusCode int             `json:"status_code"`
	RequestID  string          `json:"request_id"`
	Location   string          `json:"location,omitempty"` // of a redirect; not one of OpenAI's
	Body       json.RawMessage `json:"body"`
}

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Line    int64  `json:"line,omitempty"` // of the requests; not one of OpenAI's
}

// lineOf is the line of a result, and whether it belongs into the file of failures. It is the same each time it is written.
func lineOf(r *Result, f requests.Format) (text []byte, failed bool) {
	failed = r.State == node.Failed
	var l any
	if f == requests.Anthropic {
		l = anthropicLine(r, failed)
	} else {
		l = openAILine(r, failed)
	}
	return append([]byte(encode(l)), '\n'), failed
}

// openAILine has either a response or an error, never both. Its id is derived from the request's.
func openAILine(r *Result, failed bool) line {
	sum := sha256.Sum256([]byte(r.In.Key()))
	l := line{ID: openAIID + hex.EncodeToString(sum[:12]), CustomID: r.In.ID}
	if !failed {
		l.Response = &response{StatusCode: r.Out.Status, RequestID: r.Out.RequestID, Body: json.RawMessage(orNull(r.Out.Body))}
		return l
	}
	f := FailureOf(r.Err)
	if f.answered() {
		l.Response = &response{f.StatusCode, f.RequestID, f.Location, json.RawMessage(orNull(f.Text))}
	} else {
		l.Error = &problem{f.Code, f.Message, f.Line}
	}
	return l
}

// openAIID begins the id of each line.
const openAIID = "batch_req_"

func orNull(body string) string {
	if body == "" {
		return "null"
	}
	return body
}
