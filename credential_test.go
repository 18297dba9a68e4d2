package headrace_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/registry"
)

// request has headers, as "Name: value" on a line each, or a query.
func request(t *testing.T, about string) *http.Request {
	t.Helper()
	url := "https://account.example/v1"
	if host, query, ok := strings.Cut(about, "?"); ok {
		url = "https://" + host + "/v1?" + query
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
	require.NoError(t, err)
	for line := range strings.Lines(about) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); ok {
			req.Header.Set(name, value)
		}
	}
	return req
}

func token(claims string) string {
	return "Authorization: Bearer eyJh." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
}

func TestAccounts(t *testing.T) {
	for about, c := range map[string]struct {
		a, b        string
		same, known bool
	}{
		"the same key":        {"Authorization: Bearer k1", "Authorization: Bearer k1", true, true},
		"another key":         {"Authorization: Bearer k1", "Authorization: Bearer k2", false, true},
		"another user":        {"Authorization: Basic dTE6cA==", "Authorization: Basic dTI6cA==", false, true},
		"another scheme":      {"Authorization: Token t1", "Authorization: Token t2", false, true},
		"Anthropic":           {"X-Api-Key: k1", "X-Api-Key: k2", false, true},
		"Azure":               {"Api-Key: k1", "Api-Key: k2", false, true},
		"Gemini":              {"X-Goog-Api-Key: k1", "X-Goog-Api-Key: k2", false, true},
		"a query":             {"h?api_key=k1", "h?api_key=k2", false, true},
		"a query of Google":   {"x.googleapis.com?key=k1", "x.googleapis.com?key=k2", false, true},
		"any other key":       {"h?key=item1", "h?key=item2", true, false},
		"no key":              {"h", "h", true, false},
		"an organization":     {"Authorization: Bearer k1\nOpenAI-Organization: o1", "Authorization: Bearer k1\nOpenAI-Organization: o2", false, true},
		"one organization":    {"Authorization: Bearer k1\nOpenAI-Organization: o1", "Authorization: Bearer k1\nOpenAI-Organization: o1", true, true},
		"no organization":     {"Authorization: Bearer k1", "Authorization: Bearer k1\nOpenAI-Organization: o1", false, true},
		"another project":     {"Authorization: Bearer k1\nOpenAI-Project: p1", "Authorization: Bearer k1\nOpenAI-Project: p2", false, true},
		"not a project":       {"Authorization: Bearer k1\nOpenAI-Project: x", "Authorization: Bearer k1\nOpenAI-Organization: x", false, true},
		"a project of Google": {"Authorization: Bearer k1\nX-Goog-User-Project: p1", "Authorization: Bearer k1\nX-Goog-User-Project: p2", false, true},
		"without a key":       {"OpenAI-Organization: o1", "OpenAI-Organization: o2", true, false},
		"AWS, signed again":   {"Authorization: AWS4-HMAC-SHA256 Credential=A1/20260101/r/s/aws4_request, Signature=1", "Authorization: AWS4-HMAC-SHA256 Credential=A1/20260102/r/s/aws4_request, Signature=2", true, true},
		"AWS, another key":    {"Authorization: AWS4-HMAC-SHA256 Credential=A1/20260101/r/s/aws4_request, Signature=1", "Authorization: AWS4-HMAC-SHA256 Credential=A2/20260101/r/s/aws4_request, Signature=1", false, true},
		"Azure, signed again": {"Authorization: SharedKey acct:sig1", "Authorization: SharedKey acct:sig2", true, true},
		"Digest":              {`Authorization: Digest username="u", nonce="1"`, `Authorization: Digest username="u", nonce="2"`, true, false},
		"a renewed token":     {token(`{"iss":"i","sub":"s","exp":1}`), token(`{"iss":"i","sub":"s","exp":2}`), true, true},
		"no end":              {token(`{"iss":"i","exp":null,"k":1}`), token(`{"iss":"i","exp":null,"k":2}`), false, true},
		"another subject":     {token(`{"sub":"s1"}`), token(`{"sub":"s2"}`), false, true},
		"a key of MiniMax":    {token(`{"iss":"minimax","GroupID":"1"}`), token(`{"iss":"minimax","GroupID":"2"}`), false, true},
		"the same key again":  {token(`{"iss":"minimax","GroupID":"1"}`), token(`{"iss":"minimax","GroupID":"1"}`), true, true},
		"a renewed app token": {token(`{"iss":12345678901234567,"exp":1}`), token(`{"iss":12345678901234567,"exp":2}`), true, true},
		"another app":         {token(`{"iss":12345678901234567,"exp":1}`), token(`{"iss":12345678901234568,"exp":1}`), false, true},
		"an opaque token":     {"Authorization: Bearer eyJ1", "Authorization: Bearer eyJ2", false, true},
		"a token of nobody":   {token(`{"exp":1}`), token(`{"exp":2}`), true, false},
		"not a token":         {"Authorization: Bearer eyJ.%.1", "Authorization: Bearer eyJ.%.2", false, true},
		"not JSON":            {"Authorization: Bearer eyJ.AA.1", "Authorization: Bearer eyJ.AA.2", false, true},
	} {
		same, known := headrace.SameAccount(request(t, c.a), request(t, c.b))
		assert.Equal(t, c.same, same, about)
		assert.Equal(t, c.known, known, about)
	}
}

// poor is a provider where the account "broke" has used up its quota.
func poor() http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") == "Bearer broke" {
			return answer(http.StatusTooManyRequests, "", money), nil
		}
		return answer(http.StatusOK, "", `{}`), nil
	})
}

// A used-up quota closes the guard of its key, and others only where a guard is
// shared on purpose.
func TestAQuotaIsOfOneKey(t *testing.T) {
	configured := func(text string) *registry.Registry {
		c, err := registry.Parse(text)
		require.NoError(t, err)
		reg, err := registry.New(c)
		require.NoError(t, err)
		return reg
	}
	mine, err := guard.New(guard.Policy{Name: "mine"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		preset presets.ID
		opts   []headrace.Option
		shared bool
	}{
		"a preset":           {presets.OpenAITier1, []headrace.Option{headrace.WithRegistry(emptyRegistry(t))}, false},
		"no preset":          {"", []headrace.Option{headrace.WithRegistry(emptyRegistry(t))}, false},
		"a law":              {presets.OpenAITier1, []headrace.Option{headrace.With(guard.Policy{Law: adaptive.AIMD{}})}, false},
		"configured":         {presets.OpenAITier1, []headrace.Option{headrace.WithRegistry(configured("openai: 100/s"))}, true},
		"a configured host":  {"", []headrace.Option{headrace.WithRegistry(configured("account.example: 100/s"))}, true},
		"a service":          {"", []headrace.Option{headrace.WithService("x"), headrace.WithRegistry(configured("x: 100/s"))}, true},
		"a guard of its own": {"", []headrace.Option{headrace.Within(mine)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rt := headrace.Transport(poor(), c.preset, c.opts...)
			send := func(key string) error {
				resp, err := rt.RoundTrip(request(t, "Authorization: Bearer "+key))
				if err == nil {
					read(t, resp)
				}
				return err
			}
			require.NoError(t, send("rich"))
			require.NoError(t, send("broke"), "the response is returned as it came")
			assert.ErrorIs(t, send("broke"), adaptive.ErrQuotaExhausted)
			assert.Equal(t, c.shared, errors.Is(send("rich"), adaptive.ErrQuotaExhausted))
		})
	}
}

// The names of guards tell credentials apart and do not contain them.
func TestNamesOfCredentials(t *testing.T) {
	reg := emptyRegistry(t)
	rt := headrace.Transport(poor(), presets.OpenAITier1, headrace.WithRegistry(reg))
	for _, about := range []string{"names.example?", "names.example?api_key=canary1", "names.example?api_key=canary2", "names.example?api_key=canary1"} {
		resp, err := rt.RoundTrip(request(t, about))
		require.NoError(t, err)
		read(t, resp)
	}
	assert.Equal(t, []string{"openai/names.example/tier1", "openai/names.example/tier1#key1", "openai/names.example/tier1#key2"}, reg.Names())
}
