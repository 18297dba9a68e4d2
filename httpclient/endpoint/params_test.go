package endpoint_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/httpclient"
	"github.com/headrace/headrace/httpclient/endpoint"
)

// echoing answers with what was asked.
func echoing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	for _, name := range []string{"X-Team", "X-Base", "Idempotency-Key", "X-Correlation-Id", "Authorization"} {
		w.Header().Set("Got-"+name, r.Header.Get(name))
	}
	_, _ = w.Write([]byte(r.Method + " " + r.URL.EscapedPath() + "?" + r.URL.RawQuery))
}

func TestEndpointParams(t *testing.T) {
	s := serve(t, echoing)
	for name, c := range map[string]struct {
		path   string
		params any
		want   string
		header map[string]string
	}{
		"a path":                  {"/batches/{id}", endpoint.Params{Path: map[string]string{"id": "b_1"}}, "GET /v1/batches/b_1?v=1", nil},
		"by pointer":              {"/batches/{id}", &endpoint.Params{Path: map[string]string{"id": "b_1"}}, "GET /v1/batches/b_1?v=1", nil},
		"a value that is escaped": {"/f/{id}/content", endpoint.Params{Path: map[string]string{"id": "a/b?c#d%{x}é "}}, "GET /v1/f/a%2Fb%3Fc%23d%25%7Bx%7D%C3%A9%20/content?v=1", nil},
		"within a segment":        {"/models/{model}:generate{x-1}", endpoint.Params{Path: map[string]string{"model": "m", "x-1": "Content"}}, "GET /v1/models/m:generateContent?v=1", nil},
		"a name twice":            {"/{a}/{a}", endpoint.Params{Path: map[string]string{"a": "1"}}, "GET /v1/1/1?v=1", nil},
		"a query":                 {"/l?limit=5", endpoint.Params{Query: url.Values{"after": {"x y"}, "limit": {"9"}}}, "GET /v1/l?after=x+y&limit=9&v=1", nil},
		"a path and its query":    {"/l/{id}?a={b}", endpoint.Params{Path: map[string]string{"id": "1"}}, "GET /v1/l/1?v=1&a={b}", nil},
		"headers": {
			"/l",
			endpoint.Params{Header: map[string]string{"x-team": "own", "idempotency-key": "k", "X-Correlation-Id": "c"}},
			"GET /v1/l?v=1",
			map[string]string{"X-Team": "own", "X-Base": "base", "Idempotency-Key": "k", "X-Correlation-Id": "c"},
		},
		"nothing":       {"/l", endpoint.Params{}, "GET /v1/l?v=1", map[string]string{"X-Team": "all", "X-Base": "base"}},
		"a nil pointer": {"/l", (*endpoint.Params)(nil), "GET /v1/l?v=1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpoint.Config{
				BaseURL: s.URL + "/v1?v=1", Path: c.path, Method: http.MethodGet, Secret: httpclient.NewSecret(canary),
				Headers: map[string]string{"X-Team": "all", "X-Base": "base"},
			})
			a, err := e.Call(t.Context(), c.params)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(a.Body))
			assert.Equal(t, "Bearer "+canary, a.Header.Get("Got-Authorization"))
			for name, value := range c.header {
				assert.Equal(t, value, a.Header.Get("Got-"+name), name)
			}
			assert.Equal(t, http.MethodGet, a.Method)
			noTrace(t, a.URL)
		})
	}
}

func TestEndpointParamsWithAPayload(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Got", r.Header.Get("Content-Type")+" "+r.URL.Path)
	})
	var seen any
	e := newEndpoint(t, endpoint.Config{BaseURL: s.URL, Path: "{id}", CheckPayload: func(p any) error { seen = p; return nil }})
	payload := map[string]int{"a": 1}
	a, err := e.Call(t.Context(), endpoint.Params{Path: map[string]string{"id": "x"}, Payload: payload})
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":1}`, string(a.Payload))
	assert.Equal(t, payload, seen)
	assert.Equal(t, "application/json /x", a.Header.Get("Got"))
}

func TestEndpointParamsThatAreRejected(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	type m = map[string]string
	for name, c := range map[string]struct {
		params endpoint.Params
		text   string
	}{
		"no value":         {endpoint.Params{}, "Params.Path[id] is missing"},
		"an empty value":   {endpoint.Params{Path: m{"id": ""}}, "Params.Path[id] is missing"},
		"another name":     {endpoint.Params{Path: m{"id": "1", "di": canary}}, "the path has no {di}"},
		"dots":             {endpoint.Params{Path: m{"id": ".."}}, "a segment of dots"},
		"dots in disguise": {endpoint.Params{Path: m{"id": "a/../../admin"}}, "a segment of dots"},
		"the other way":    {endpoint.Params{Path: m{"id": `a\..\b`}}, "a segment of dots"},
		"no header":        {endpoint.Params{Path: m{"id": "1"}, Header: m{"a b: " + canary: "c"}}, "is not a header name"},
		"a line break":     {endpoint.Params{Path: m{"id": "1"}, Header: m{"A": canary + "\n"}}, "Params.Header[A] has a value that begins or ends"},
		"the secret's":     {endpoint.Params{Path: m{"id": "1"}, Header: m{"authorization": canary}}, "is the header in which Auth sends the Secret"},
		"net/http's":       {endpoint.Params{Path: m{"id": "1"}, Header: m{"Host": canary}}, "is set by net/http"},
		"the type":         {endpoint.Params{Path: m{"id": "1"}, Header: m{"Content-Type": canary}}, "is set by ContentType"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpoint.Config{BaseURL: s.URL, Path: "/b/{id}", Secret: httpclient.NewSecret("sk-other")})
			_, err := e.Call(t.Context(), c.params)
			require.ErrorIs(t, err, httpclient.CodeUnsent)
			require.ErrorContains(t, err, c.text)
			noCanary(t, err)
		})
	}
	for _, path := range []string{"/{", "/}", "/{}", "/{a b}", "/{a", "/a}", "/{a}{", "/{{a}}", "/{a/b}"} {
		_, err := endpoint.New(endpoint.Config{BaseURL: s.URL, Path: path})
		var field *fault.FieldError
		require.ErrorAs(t, err, &field, path)
		assert.Equal(t, "Path", field.Field, path)
	}
}
