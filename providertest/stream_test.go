package providertest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

const (
	streamedChat    = `{"model":"test-1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hello there. And more."}]}`
	streamedMessage = `{"model":"claude","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"Hello there. And more."}]}`
)

func TestChatStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for "created"
		s := newServer(t, providertest.Config{})
		got := send(t, s.Transport(), base, "", streamedChat)
		require.Equal(t, "text/event-stream", got.header.Get("Content-Type"))
		const head = `data: {"id":"chatcmpl-000000000001","object":"chat.completion.chunk","created":946684800,"model":"test-1",`
		require.Equal(t, []string{
			head + `"choices":[{"index":0,"delta":{"role":"assistant"},"logprobs":null,"finish_reason":null}]}`,
			head + `"choices":[{"index":0,"delta":{"content":"Hello "},"logprobs":null,"finish_reason":null}]}`,
			head + `"choices":[{"index":0,"delta":{"content":"there."},"logprobs":null,"finish_reason":null}]}`,
			head + `"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}`,
			head + `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}}`,
			`data: [DONE]`,
			``,
		}, strings.Split(got.body, "\n\n"))
		got = send(t, s.Transport(), base, "", strings.Replace(streamedChat, "true}", "false}", 1))
		require.NotContains(t, got.body, "usage")
		require.Contains(t, got.body, "data: [DONE]\n\n")
	})
}

func TestMessageStream(t *testing.T) {
	s := newServer(t, providertest.Config{})
	for _, got := range []reply{
		post(t, s.Transport(), base+messagesPath, "", streamedMessage),
		post(t, s.Client().Transport, s.URL()+messagesPath, "", streamedMessage),
	} {
		var names []string
		for line := range strings.Lines(got.body) {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		require.Equal(t, []string{
			"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta",
			"content_block_stop", "message_delta", "message_stop",
		}, names)
		require.Contains(t, got.body, `"usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":10,"output_tokens":0}`)
		require.Contains(t, got.body, `"delta":{"text":"Hello ","type":"text_delta"}`)
		require.Contains(t, got.body, `"usage":{"output_tokens":3}`)
	}
	require.Equal(t, 2, s.Counts().Served)
}

// TestStreamPaceInVirtualTime reads event by event: each comes when it is due,
// and the slot is free when the last one is there.
func TestStreamPaceInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, providertest.Config{Latency: providertest.Fixed(time.Second), Pace: time.Minute})
		start := time.Now()
		res, err := s.Transport().RoundTrip(newRequest(t.Context(), t, base, "", streamedChat))
		require.NoError(t, err)
		defer res.Body.Close()
		require.Equal(t, time.Second, time.Since(start))
		require.EqualValues(t, -1, res.ContentLength)
		lines := bufio.NewScanner(res.Body)
		for n := 0; lines.Scan(); {
			if lines.Text() == "" {
				continue
			}
			require.Equal(t, time.Second+time.Duration(n)*time.Minute, time.Since(start))
			n++
			require.Equal(t, n < 6, s.Counts().InFlight == 1)
		}
		require.NoError(t, lines.Err())
		require.Equal(t, 1, s.Counts().Served)
	})
}

func TestStreamThatIsGivenUp(t *testing.T) {
	bored := errors.New("bored")
	for name, giveUp := range map[string]func(context.CancelCauseFunc, io.Closer, *providertest.Server){
		"closed":   func(_ context.CancelCauseFunc, body io.Closer, _ *providertest.Server) { _ = body.Close() },
		"canceled": func(cancel context.CancelCauseFunc, _ io.Closer, _ *providertest.Server) { cancel(bored) },
		"server":   func(_ context.CancelCauseFunc, _ io.Closer, s *providertest.Server) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, providertest.Config{
					Pace:   time.Minute,
					Limits: providertest.Limits{Tokens: providertest.Bucket{PerSecond: 1. / 3600, Burst: 100}},
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				res, err := s.Transport().RoundTrip(newRequest(ctx, t, base, "", streamedChat))
				require.NoError(t, err)
				elapse(90 * time.Second) // two of six events
				giveUp(cancel, res.Body, s)
				_, err = io.ReadAll(res.Body)
				if name == "canceled" {
					require.ErrorIs(t, err, bored)
				} else {
					require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				}
				require.NoError(t, res.Body.Close())
				require.Equal(t, providertest.Counts{Arrivals: 1, Admitted: 1, Aborted: 1, PeakInFlight: 1}, s.Counts())
				for a := range s.Ledger().All() {
					require.Equal(t, http.StatusOK, a.Status)
					require.Equal(t, providertest.Tokens{Total: 12, Input: 10, Output: 2}, a.Used, "what was streamed")
				}
			})
		})
	}
}
