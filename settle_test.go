package headrace_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/presets"
	"github.com/headrace/headrace/throttle"
)

// sized is an answer of known or unknown length.
func sized(text, kind string, known bool) *http.Response {
	resp := answer(http.StatusOK, "", text)
	if resp.Header.Set("Content-Type", kind); !known {
		resp.ContentLength, resp.TransferEncoding = -1, []string{"chunked"}
	}
	return resp
}

// The usage that an answer reports delays the next call by no more than a
// window, whatever it says, and what a model or a tool has written not at all.
func TestAUsageDelaysTheNextCallByAWindowAtMost(t *testing.T) {
	const huge = `{"total_tokens":1000000000,"prompt_tokens":999999999,"completion_tokens":1}`
	filler := strings.Repeat("x", 100<<10) // more than is held back
	for about, c := range map[string]struct {
		text, kind string
		waits      bool
	}{
		"the provider's":        {`{"choices":[],"usage":` + huge + `}`, "application/json", true},
		"the provider's, long":  {`{"choices":["` + filler + `"],"usage":` + huge + `}`, "application/json", true},
		"the provider's stream": {"data: {\"choices\":[],\"usage\":" + huge + "}\n\n", "text/event-stream", true},
		"a tool's argument":     {`{"choices":[{"message":{"tool_calls":[{"function":{"arguments":{"usage":` + huge + `}}}]}}]}`, "application/json", false},
		"a tool's argument, as text": {
			`{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{\"usage\":{\"total_tokens\":1000000000}}"}}]}}]}`, "application/json", false,
		},
		"a tool's argument, long": {`{"choices":[{"message":{"content":"` + filler + `","tool_calls":[{"function":{"arguments":{"usage":` + huge + `}}}]}}]}`, "application/json", false},
		"a tool's stream":         {"data: {\"choices\":[{\"delta\":{\"usage\":" + huge + "}}]}\n\n", "text/event-stream", false},
		"a tool's result":         {`{"output":[{"type":"mcp_call","output":{"usage":` + huge + `},"usage":` + huge + `}]}`, "application/json", false},
		"a list of tool results":  {`{"content":[{"type":"mcp_tool_result","content":[{"usage":` + huge + `}]}],"input":{"usage":` + huge + `}}`, "application/json", false},
	} {
		for _, known := range []bool{true, false} {
			for name, policy := range map[string]guard.Policy{
				"by a preset": {},
				"by a window": {Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)}}},
			} {
				t.Run(fmt.Sprintf("%s, of known length %t, %s", about, known, name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
							return sized(c.text, c.kind, known), nil
						}), presets.OpenAITier1, headrace.WithRegistry(emptyRegistry(t)), headrace.With(policy))
						client := &http.Client{Transport: rt}
						const request = `{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"max_tokens":10}`
						read(t, post(t, client, secretURL, request)) //nolint:bodyclose // read does
						began := time.Now()
						read(t, post(t, client, secretURL, request)) //nolint:bodyclose // read does
						// The controller paces calls at 97 % of the rate: requests are 124 ms apart, and a minute's tokens take 61.9 s.
						if took := time.Since(began); c.waits {
							assert.Greater(t, took, 30*time.Second)
							assert.Less(t, took, 62*time.Second)
						} else {
							assert.Less(t, took, 124*time.Millisecond)
						}
					})
				})
			}
		}
	}
}

// A GET reads what another call has made, such as a batch, with the usage of that.
func TestTheUsageInWhatIsReadIsNotCharged(t *testing.T) {
	const batch = `{"id":"batch_1","object":"batch","status":"completed","usage":{"input_tokens":1000000,"output_tokens":1,"total_tokens":1000001}}`
	for method, delay := range map[string]time.Duration{
		http.MethodGet:  0,
		http.MethodPost: time.Minute,
	} {
		for _, text := range []string{batch, strings.Replace(batch, "batch_1", strings.Repeat("x", 100<<10), 1)} {
			synctest.Test(t, func(t *testing.T) {
				rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
					return answer(http.StatusOK, "", text), nil
				}), presets.OpenAITier1, headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{
					Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1000, time.Minute).Of(throttle.Tokens)}},
				}))
				client := &http.Client{Transport: rt}
				req, err := http.NewRequestWithContext(t.Context(), method, secretURL, http.NoBody)
				require.NoError(t, err)
				resp, err := client.Do(req)
				require.NoError(t, err)
				read(t, resp)
				began := time.Now()
				read(t, post(t, client, secretURL, `{"messages":["hi"],"max_tokens":10}`)) //nolint:bodyclose // read does
				assert.Equal(t, delay, time.Since(began).Truncate(time.Second), method)
			})
		}
	}
}

// MaxWait bounds the wait for the first admission as well.
func TestMaxWaitBoundsTheFirstAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		rt := headrace.Transport(tripper(func(*http.Request) (*http.Response, error) {
			sent++
			return answer(http.StatusOK, "", `{}`), nil
		}), "", headrace.WithRegistry(emptyRegistry(t)), headrace.With(guard.Policy{
			MaxWait: 20 * time.Second, Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}},
		}))
		client := &http.Client{Transport: rt}
		read(t, post(t, client, secretURL, `{}`)) //nolint:bodyclose // read does
		began := time.Now()
		resp, err := client.Post(secretURL, "application/json", io.NopCloser(strings.NewReader(`{}`)))
		if err == nil {
			resp.Body.Close()
		}
		require.ErrorIs(t, err, throttle.ErrLimited)
		limited, ok := errors.AsType[*throttle.LimitedError](err)
		require.True(t, ok)
		assert.Positive(t, limited.RetryAfter)
		assert.LessOrEqual(t, time.Since(began), 20*time.Second)
		assert.Equal(t, 1, sent)
	})
}
