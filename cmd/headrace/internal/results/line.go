package results

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
	"github.com/headrace/headrace/node"
)

// Result is the outcome of one request.
type Result = node.Result[requests.Request, Answer]

// line is one of OpenAI's Batch output: https://platform.openai.com/docs/api-reference/batch/request-output.
type line struct {
	ID       string    `json:"id"`
	CustomID string    `json:"custom_id"`
	Response *response `json:"response"` // null if there was no usable response
	Error    *problem  `json:"error"`    // of a failure that is not an HTTP status
}

type response struct {
	StatusCode int             `json:"status_code"`
	RequestID  string          `json:"request_id"`
	Location   string          `json:"location,omitempty"` // of a redirect; not part of OpenAI's format
	Body       json.RawMessage `json:"body"`
}

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Line    int64  `json:"line,omitempty"` // line of the requests; not part of OpenAI's format
}

// lineOf returns the line of a result, and whether it belongs in the file of failures. The line of a result is always the same.
func lineOf(r *Result, f requests.Format) (text []byte, failed bool) {
	failed = r.State == node.Failed
	var l any
	switch {
	case f == requests.Anthropic:
		l = anthropicLine(r, failed)
	case failed:
		l = openAIFailure(r)
	default:
		return openAIAnswer(r), false
	}
	return append([]byte(encode(l)), '\n'), failed
}

// openAIAnswer returns the line of an answer, as encode writes it. The answer is not parsed again, because Compact has
// made it JSON in one line, and a journal contains nothing else.
func openAIAnswer(r *Result) []byte {
	b := make([]byte, 0, len(r.Out.Body)+len(r.In.ID)+len(r.Out.RequestID)+200)
	b = append(append(append(b, `{"id":"`...), openAIIDOf(r)...), `","custom_id":`...)
	b = append(quoted(b, r.In.ID), `,"response":{"status_code":`...)
	b = append(strconv.AppendInt(b, int64(r.Out.Status), 10), `,"request_id":`...)
	b = append(quoted(b, r.Out.RequestID), `,"body":`...)
	return append(append(b, orNull(r.Out.Body)...), `},"error":null}`+"\n"...)
}

// quoted appends text as JSON.
func quoted(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, encode(text)...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// openAIFailure returns the line of a failure, with either a response or an error, never both.
func openAIFailure(r *Result) line {
	l := line{ID: openAIIDOf(r), CustomID: r.In.ID}
	f := FailureOf(r.Err)
	if f.answered() {
		l.Response = &response{f.StatusCode, f.RequestID, f.Location, json.RawMessage(orNull(f.Text))}
	} else {
		l.Error = &problem{f.Code, f.Message, f.Line}
	}
	return l
}

// openAIID begins the ID of each line.
const openAIID = "batch_req_"

// openAIIDOf derives the ID of a line from the request's key.
func openAIIDOf(r *Result) string {
	sum := sha256.Sum256([]byte(r.In.Key()))
	return openAIID + hex.EncodeToString(sum[:12])
}

func orNull(body string) string {
	if body == "" {
		return "null"
	}
	return body
}
