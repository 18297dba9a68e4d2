package executor

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Wherever an excerpt ends, it does not end within a secret, also if others
// before it have become shorter.
func TestAnExcerptHasNoPartOfASecret(t *testing.T) {
	secrets := []string{"S3CR3T-0123456789-abcdefghijklmnop", "S3CR3T!"}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "secrets") {
			b.WriteString(strings.Repeat(".", rapid.IntRange(0, 40).Draw(t, "gap")))
			b.WriteString(rapid.SampledFrom(secrets).Draw(t, "secret"))
		}
		keep := rapid.OneOf(rapid.IntRange(0, 200), rapid.Just(math.MaxInt)).Draw(t, "keep")
		got := excerpt(head([]byte(b.String()), secrets, keep), b.Len(), secrets, keep)
		assert.LessOrEqual(t, len(got), keep)
		assert.NotContains(t, got, "S3CR3T")
		for _, part := range strings.FieldsFunc(got, func(r rune) bool { return r == '.' }) {
			assert.True(t, strings.HasPrefix(strings.Repeat("REDACTED", 6), part), "%q", part)
		}
	})
	assert.Equal(t, "abc", excerpt([]byte("abcdef"), 6, nil, 3))
	assert.Equal(t, "abcdef", excerpt([]byte("abcdef"), 6, []string{"secret"}, 6), "the whole is shown to its end")
}

// The URL of a request has secrets too: they are not shown, nor what repeats them.
func TestTheURLHasNoSecrets(t *testing.T) {
	x := start(t, Config{Keep: math.MaxInt})
	for given, want := range map[string]string{
		"https://me:canary-pw@h/p?key=canary-key&pw=cap": "https://h/p?key=REDACTED&pw=REDACTED",
		"/p?canary-key":              "/p?REDACTED",
		"https://h/%zz?k=canary-key": "REDACTED",
		"chat, 100%":                 "chat, 100%",
		"https://h/p":                "https://h/p",
	} {
		task := must(t, x, func(ctx context.Context) (int, error) {
			if strings.Contains(given, "canary") && !strings.Contains(given, "%zz") {
				Respond(ctx, http.StatusOK, http.Header{"set-cookie": {"a=canary"}}, []byte("canary-key is it"))
			}
			return 0, nil
		}, WithRequest("GET", given, nil, nil))
		_, err := task.Wait(t.Context())
		require.NoError(t, err)
		i := task.Info()
		assert.Equal(t, want, i.Request.Endpoint)
		assert.NotContains(t, fmt.Sprint(i.Request, i.Response), "canary")
	}
}

// A call may call Respond from several goroutines.
func TestRespondAtTheSameTime(t *testing.T) {
	x := start(t, Config{})
	task := must(t, x, func(ctx context.Context) (int, error) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { Respond(ctx, http.StatusOK, nil, []byte("body")) })
		}
		wg.Wait()
		return 0, nil
	})
	_, err := task.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "body", task.Info().Response.Body)
}
