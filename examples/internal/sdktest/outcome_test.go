package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is an SDK that knows no provider.
func browser() Suite {
	return Suite{
		Program: func(transport http.RoundTripper, url string) Call {
			return func(ctx context.Context, _ bool) (string, int64, error) {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err != nil {
					return "", 0, err
				}
				answer, err := (&http.Client{Transport: transport}).Do(r)
				if err != nil {
					return "", 0, err
				}
				defer func() { _ = answer.Body.Close() }()
				text, err := io.ReadAll(answer.Body)
				return string(text), int64(answer.StatusCode), err
			}
		},
		API:  func(error) *API { return nil },
		Kind: func(error) string { return "" },
	}
}

func TestOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		of   Case
		want Outcome
	}{
		"answered":   {Case{Answer: Always(201, "hello")}, Outcome{Text: "hello", Tokens: 201, Calls: 1}},
		"redirected": {Case{Answer: Once(Redirect("/there"), Always(200, "hello"))}, Outcome{Text: "hello", Tokens: 200, Calls: 2}},
		"events":     {Case{Answer: Events("a", "b")}, Outcome{Text: "ab", Tokens: 200, Calls: 1}},
		"cut":        {Case{Answer: Cut("hel")}, Outcome{Text: "hel", Tokens: 200, Err: "unexpected EOF", Calls: 1}},
		"no answer":  {Case{Answer: Cut("")}, Outcome{Err: "EOF", Calls: 1}},
		"silence":    {Case{Answer: Hang(), Limit: time.Hour}, Outcome{Err: "deadline", Calls: 1}},
		"half":       {Case{Answer: Hang("hel"), Limit: time.Hour}, Outcome{Text: "hel", Tokens: 200, Err: "deadline", Calls: 1}},
		"impatient":  {Case{Answer: Always(200, "hello"), Limit: -1}, Outcome{Err: "cancelled"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := browser().Once(t, tc.of, bare)
			require.Equal(t, tc.want, got, err)
		})
	}
}

func TestKind(t *testing.T) {
	for want, err := range map[string]error{
		"":               nil,
		"json":           &json.SyntaxError{},
		"deadline":       context.DeadlineExceeded,
		"cancelled":      context.Canceled,
		"reset":          &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		"unexpected EOF": io.ErrUnexpectedEOF,
		"EOF":            io.EOF,
		"what?":          errors.New("what?"),
	} {
		require.Equal(t, want, kind(err))
		if err != nil && want != "what?" {
			require.Equal(t, want, kind(fmt.Errorf("call: %w", err)))
		}
	}
	require.Equal(t, "json", kind(fmt.Errorf("parsing json: %w", io.ErrUnexpectedEOF)))
}

func TestAlike(t *testing.T) {
	one := errors.New("one")
	require.True(t, alike(nil, nil))
	require.True(t, alike(one, errors.New("one")))
	for _, other := range []error{nil, errors.New("two"), fmt.Errorf("%w", one)} {
		require.False(t, alike(one, other))
		require.False(t, alike(other, one))
	}
}

func TestListenIsANetworkOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := Listen(t, Handler(Always(200, "hello")))
		text, _, err := browser().Program(base, "http://nowhere.test")(t.Context(), false)
		require.NoError(t, err)
		require.Equal(t, "hello", text)
	})
}
