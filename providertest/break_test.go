package providertest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

// always makes every request meet the same fault.
func always(f providertest.Fault) func(providertest.Request) *providertest.Fault {
	return func(providertest.Request) *providertest.Fault { return &f }
}

// try sends a chat and reads as much as there is.
func try(ctx context.Context, t *testing.T, rt http.RoundTripper, url, body string) (status int, text string, err error) {
	t.Helper()
	res, err := rt.RoundTrip(newRequest(ctx, t, url, "k", body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

func TestBreaks(t *testing.T) {
	const half = `{"error":{"message":"The server had an error while `
	admitted := providertest.Counts{Arrivals: 2, Admitted: 2, Aborted: 2, PeakInFlight: 1}
	faulted := providertest.Counts{Arrivals: 2, Faulted: 2}
	for _, c := range []struct {
		name   string
		fault  providertest.Fault
		body   string
		status int
		part   string // what the text read begins with
		want   providertest.Counts
	}{
		{"header", providertest.Fault{Break: providertest.BreakHeader}, hello, 0, "", faulted},
		{"header of an answer", providertest.Fault{Admit: true, Break: providertest.BreakHeader}, hello, 0, "", admitted},
		{"header of a stream", providertest.Fault{Admit: true, Break: providertest.BreakHeader}, streamedChat, 0, "", admitted},
		{"body", providertest.Fault{Status: 500, Break: providertest.BreakBody}, hello, 500, half, faulted},
		{"body of an answer", providertest.Fault{Admit: true, Break: providertest.BreakBody}, hello, 200, `{"id":"chatcmpl-`, admitted},
		{"error where nothing streams", providertest.Fault{Admit: true, Break: providertest.BreakError}, hello, 200, `{"id":"chatcmpl-`, admitted},
		{"body of a stream", providertest.Fault{Admit: true, Break: providertest.BreakBody}, streamedChat, 200, `data: {"id":"chatcmpl-`, admitted},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.InFlight = 0
			s := newServer(t, providertest.Config{Fault: always(c.fault), Limits: providertest.Limits{Concurrency: 1}})
			for _, rt := range []http.RoundTripper{s.Client().Transport, s.Transport()} {
				status, text, err := try(t.Context(), t, rt, s.URL(), c.body)
				require.Error(t, err)
				if c.status > 0 || rt == s.Transport() {
					require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				}
				require.Equal(t, c.status, status)
				require.True(t, strings.HasPrefix(text, c.part), text)
				require.NotContains(t, text, "[DONE]")
			}
			require.Equal(t, c.want, s.Counts())
			for a := range s.Ledger().All() {
				require.Equal(t, c.status, a.Status)
				require.False(t, a.Served())
			}
		})
	}
}

func TestStall(t *testing.T) {
	for name, body := range map[string]string{"answer": hello, "stream": streamedChat} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, providertest.Config{Fault: always(providertest.Fault{Admit: true, Break: providertest.BreakStall})})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				status, text, err := try(ctx, t, s.Transport(), base, body)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, http.StatusOK, status)
				require.NotEmpty(t, text)
				require.Equal(t, time.Hour, time.Since(start))
				require.Equal(t, 1, s.Counts().Aborted)
			})
		})
	}
}

func TestCloseEndsAStall(t *testing.T) {
	for name, inProcess := range map[string]bool{"socket": false, "transport": true} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, providertest.Config{Fault: always(providertest.Fault{Admit: true, Break: providertest.BreakStall})})
			rt := s.Client().Transport
			if inProcess {
				rt = s.Transport()
			}
			res, err := rt.RoundTrip(newRequest(t.Context(), t, s.URL(), "", hello))
			require.NoError(t, err)
			defer res.Body.Close()
			s.Close()
			data, err := io.ReadAll(res.Body)
			require.Error(t, err)
			require.Less(t, int64(len(data)), res.ContentLength, "the header promised more")
		})
	}
}

func TestErrorInAStream(t *testing.T) {
	s := newServer(t, providertest.Config{Fault: always(providertest.Fault{Admit: true, Break: providertest.BreakError})})
	for _, rt := range []http.RoundTripper{s.Client().Transport, s.Transport()} {
		got := post(t, rt, s.URL()+messagesPath, "", streamedMessage)
		require.Equal(t, http.StatusOK, got.status)
		require.True(t, strings.HasSuffix(got.body,
			"event: error\ndata: "+`{"error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}`+"\n\n"), got.body)
		got = send(t, rt, s.URL(), "", streamedChat)
		require.Contains(t, got.body, "\n\ndata: {\"error\":{")
		require.NotContains(t, got.body, "[DONE]")
	}
	require.Equal(t, 4, s.Counts().Aborted)
}

func TestSlowHeaders(t *testing.T) {
	for name, fault := range map[string]providertest.Fault{
		"fault":    {Status: 500, Delay: time.Minute},
		"admitted": {Admit: true, Delay: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, providertest.Config{Fault: always(fault)})
				start := time.Now()
				status, _, err := try(t.Context(), t, s.Transport(), base, hello)
				require.NoError(t, err)
				require.Equal(t, fault.Admit, status == http.StatusOK)
				require.Equal(t, time.Minute, time.Since(start))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, _, err = try(ctx, t, s.Transport(), base, hello)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			})
		})
	}
}

func TestRetryAfterThatLies(t *testing.T) {
	s := newServer(t, providertest.Config{
		Limits:     oneIn1500ms,
		RetryAfter: providertest.RetryAfterSeconds,
		Fault:      always(providertest.Fault{Admit: true, Header: http.Header{"Retry-After": {"NaN"}}}),
	})
	require.Equal(t, http.StatusOK, send(t, s.Transport(), base, "", hello).status)
	got := send(t, s.Transport(), base, "", hello)
	require.Equal(t, http.StatusTooManyRequests, got.status, "the limits have judged")
	require.Equal(t, []string{"NaN"}, got.header["Retry-After"])
}
