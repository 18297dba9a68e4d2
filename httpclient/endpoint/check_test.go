package endpoint_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
)

func TestEndpointRejectsWhatIsNoAnswer(t *testing.T) {
	const html, js = "text/html; charset=utf-8", "application/json"
	refusal := errors.New("no choices for " + canary)
	for name, c := range map[string]struct {
		kind, body string
		status     int
		check      func(*endpoint.Answer) error
		problem    string // empty: it is an answer
	}{
		"JSON":                         {kind: js, body: `{"a":1}`},
		"no body":                      {kind: js, status: http.StatusNoContent},
		"an empty body":                {kind: js},
		"text":                         {kind: "text/plain", body: "hi <html>"},
		"sound":                        {kind: "audio/mpeg", body: "\x00<"},
		"lines of JSON":                {kind: "application/x-ndjson", body: "{}\n{}\n"},
		"XML":                          {kind: "application/xml", body: "<?xml version=\"1.0\"?><a/>"},
		"HTML":                         {kind: html, body: "<p>log in</p>", problem: "a page of HTML"},
		"HTML without a type":          {kind: "", body: " \r\n<HTML><body>log in", problem: "a page of HTML"},
		"HTML that claims to be JSON":  {kind: js, body: "\ufeff<!DOCTYPE html><html>", problem: "a page of HTML"},
		"what claims to be JSON":       {kind: "application/problem+json", body: "upstream connect error", problem: "is not JSON"},
		"a part of JSON":               {kind: js, body: `{"a":`, problem: "is not JSON"},
		"an error":                     {kind: js, body: `{"error":{"message":"the model has crashed"}}`, problem: "only an error"},
		"an error with a type":         {kind: js, body: `{"type":"error","request_id":"r","error":{"type":"api_error"}}`, problem: "only an error"},
		"an error as text":             {kind: "text/plain", body: `{"data":null,"error":"no"}`, problem: "only an error"},
		"no error":                     {kind: js, body: `{"error":null}`},
		"an empty error":               {kind: js, body: `{"error":""}`},
		"an error beside data":         {kind: js, body: `{"error":{"message":"cut"},"choices":[]}`},
		"an error of another type":     {kind: js, body: `{"type":"batch","error":{"message":"no"}}`},
		"errors":                       {kind: js, body: `{"\u0061":"error","errors":[1]}`},
		"HTML that is wanted":          {kind: html, body: "<html>", check: func(*endpoint.Answer) error { return nil }},
		"JSON that is not wanted":      {kind: js, body: `{}`, check: func(*endpoint.Answer) error { return refusal }, problem: "no choices for REDACTED"},
		"a check that panics":          {kind: js, body: `{}`, check: func(*endpoint.Answer) error { panic("oops") }, problem: "oops"},
		"a refusal, which is a status": {kind: html, body: "<html>", status: http.StatusBadGateway, problem: "E_HTTP_STATUS"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				_, _ = w.Write([]byte(c.body))
			})
			e := newEndpoint(t, endpoint.Config{Name: "e", BaseURL: s.URL, Secret: httpclient.NewSecret(canary), CheckAnswer: c.check})
			a, err := e.Call(t.Context(), "p")
			assert.Equal(t, c.body, string(a.Body))
			if c.problem == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.problem)
			noCanary(t, err)
			failed := failure(t, err)
			assert.Equal(t, "e", failed.Service)
			assert.Equal(t, a.ID, failed.ID)
			assert.Equal(t, 1, failed.Attempt)
			if c.status != 0 {
				return
			}
			require.ErrorIs(t, err, httpclient.CodeAnswer)
			assert.Equal(t, http.StatusOK, a.StatusCode, "the Answer has what is known")
			if name == "JSON that is not wanted" {
				require.ErrorIs(t, err, refusal)
			}
			assert.Equal(t, name == "a check that panics", errors.As(err, new(*fault.PanicError)))
		})
	}
}
