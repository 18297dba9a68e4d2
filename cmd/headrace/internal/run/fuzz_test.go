package run_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/run"
)

// What is said of an error's body is one line of bounded length.
func FuzzMessage(f *testing.F) {
	f.Fuzz(func(t *testing.T, status int, body string) {
		text := run.Message(status, body)
		require.NotEmpty(t, text)
		require.LessOrEqual(t, len(text), 320)
		require.NotContains(t, text, "\n")
		require.NotContains(t, text, "\r")
	})
}

// Nothing of a secret is left, however it is spelt.
func FuzzScrub(f *testing.F) {
	const mark = "REDACTED"
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 8 {
			return
		}
		clean := run.Scrub(before+secret+after, secret)
		if secret != mark {
			for piece := range strings.SplitSeq(clean, mark) {
				require.NotContains(t, piece, secret)
			}
		}
		require.LessOrEqual(t, len(clean), len(before)+len(secret)+len(after)+len(mark)*(1+strings.Count(before+after, "")))
		require.Equal(t, "before and after", run.Scrub("before and after", secret))
	})
}

// The path of a line stays below the base URL, on its host.
func FuzzTarget(f *testing.F) {
	f.Fuzz(func(t *testing.T, base, below string) {
		root, err := url.Parse(base)
		if err != nil || root.Scheme != "https" || root.Host == "" || root.User != nil || root.Opaque != "" || root.Fragment != "" || !strings.HasPrefix(below, "/") {
			return
		}
		target, foreign, err := run.Target(base, below)
		require.NoError(t, err)
		require.Empty(t, foreign)
		u, err := url.Parse(target)
		if err != nil {
			return // it is a bad line
		}
		require.Equal(t, root.Host, u.Host)
		require.Equal(t, root.Scheme, u.Scheme)
		require.Nil(t, u.User)
		require.Empty(t, u.Fragment)
		if !strings.Contains(below, ".") { // lines with dots are refused before
			require.True(t, strings.HasPrefix(u.Path, strings.TrimRight(root.Path, "/")), "%s below %s", target, base)
		}
	})
}
