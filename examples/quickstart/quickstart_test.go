package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/event"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// figure reads the first number that the pattern captures in out.
func figure(t *testing.T, pattern, out string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(out)
	require.NotNil(t, found, "%s in:\n%s", pattern, out)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// The plain command shows 429s, decreases, increases, and nothing lost.
func TestRunOnItsOwnTexts(t *testing.T) {
	var out, progress bytes.Buffer
	require.NoError(t, run(t.Context(), nil, &out, &progress))
	for _, limiter := range []string{"summarise", "sections"} {
		require.Positive(t, figure(t, limiter+`: .* (\d+) decreases`, out.String()), limiter)
	}
	require.Positive(t, figure(t, `sections: .* (\d+) increases`, out.String()), "a cap that stays is not recovered from")
	require.Positive(t, figure(t, `(\d+) rejected`, out.String()))
	require.Zero(t, figure(t, `(\d+) lost`, out.String()))
	require.Zero(t, figure(t, `(\d+) done twice`, out.String()))
	require.LessOrEqual(t, figure(t, `at most (\d+) at once`, out.String()), hidden().Limits.Concurrency)
	require.Contains(t, out.String(), "Four score and seven years ago")
	total := strconv.Itoa(figure(t, `(\d+) passages in`, out.String()))
	require.Contains(t, progress.String(), total+" of "+total+" passages")
}

func TestRunOnFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.txt")
	require.NoError(t, os.WriteFile(path, []byte("One thing.\r\n\r\nAnother thing."), 0o600))
	var out, progress bytes.Buffer
	require.NoError(t, run(t.Context(), []string{path}, &out, &progress))
	require.Contains(t, out.String(), "mine.txt\n  One thing.\n  Another thing.\n")
}

func TestFilesOfTheSameName(t *testing.T) {
	var paths []string
	for range 2 {
		path := filepath.Join(t.TempDir(), "same.txt")
		require.NoError(t, os.WriteFile(path, []byte("One thing."), 0o600))
		paths = append(paths, path)
	}
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), append(paths, paths[0]), &out, &bytes.Buffer{}))
	require.Equal(t, 3, strings.Count(out.String(), "same.txt\n  One thing."))
}

// stopper cancels the run once it has seen some progress.
type stopper struct {
	cancel context.CancelFunc
	bytes.Buffer
}

func (s *stopper) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(" passages")) {
		s.cancel()
	}
	return s.Buffer.Write(p)
}

func TestAStoppedRunKeepsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	err := run(ctx, nil, &out, &stopper{cancel: cancel})
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, out.String(), "Alice", "a summary")
	require.Positive(t, figure(t, `(\d+) passages in`, out.String()))
	require.Contains(t, out.String(), "429s")
}

func TestBadInput(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	dir := t.TempDir()
	binary, empty := filepath.Join(dir, "binary"), filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(binary, []byte{0xff, 0xfe}, 0o600))
	require.NoError(t, os.WriteFile(empty, []byte(" \n"), 0o600))
	err := func() error { _, err := readTexts([]string{binary, empty}); return err }()
	require.ErrorContains(t, err, "not a text in UTF-8", "all problems are told")
	require.ErrorContains(t, err, "the file is empty")
	for want, args := range map[string][]string{
		"no such file":             {filepath.Join(dir, "none")},
		"not a text in UTF-8":      {binary},
		"the file is empty":        {empty},
		"OPENAI_API_KEY to be set": {"--openai"},
		"not defined: -colour":     {"--colour"},
	} {
		require.ErrorContains(t, run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}), want)
	}
	var help bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"--help"}, &bytes.Buffer{}, &help), flag.ErrHelp)
	require.Contains(t, help.String(), "-openai")
}

func TestCancelledRunIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	require.ErrorIs(t, run(ctx, nil, &bytes.Buffer{}, &bytes.Buffer{}), stopped)
}

func TestAuditFindsWhatIsLostAndWhatIsDoneTwice(t *testing.T) {
	provider, err := providertest.New(providertest.Config{})
	require.NoError(t, err)
	defer provider.Close()
	c := &client{http: provider.Client(), base: provider.URL(), model: "m"}
	ask := func(key string) {
		_, err := c.summarise(t.Context(), key, "A passage.")
		require.NoError(t, err)
	}
	d := &Digest{Sections: []Section{{
		Passages: []Passage{{Key: "a"}, {Key: "b"}},
		Parts:    []string{"A.", "B."},
	}}}

	ask("a")
	require.ErrorContains(t, audit(&bytes.Buffer{}, d, provider), "passages lost: b")
	ask("b")
	require.NoError(t, audit(&bytes.Buffer{}, d, provider))
	d.Sections[0].Parts[1] = ""
	require.ErrorContains(t, audit(&bytes.Buffer{}, d, provider), "passages without a summary: b")
	d.Sections[0].Parts[1] = "B."
	ask("a")
	require.ErrorContains(t, audit(&bytes.Buffer{}, d, provider), "passages done twice: a")
}

func TestErrorsOfTheAPIKeepWhatTheDetectorReads(t *testing.T) {
	provider, err := providertest.New(providertest.Config{
		Fault: func(providertest.Request) *providertest.Fault { return providertest.QuotaExhausted() },
	})
	require.NoError(t, err)
	defer provider.Close()
	c := &client{http: provider.Client(), base: provider.URL(), model: "m"}
	_, err = c.summarise(t.Context(), "k", "A passage.")
	var e *apiError
	require.ErrorAs(t, err, &e)
	require.Equal(t, 429, e.StatusCode)
	require.Equal(t, "insufficient_quota", e.Code)
	require.NotNil(t, e.Response)
}

func TestPassages(t *testing.T) {
	long := strings.Repeat("word ", 40) + "end. "
	require.Equal(t, []string{"Short. Still short."}, passages("Short. Still short."))
	got := passages(long + long + "Tail")
	require.Len(t, got, 3)
	require.Equal(t, "Tail", got[2])
	require.Equal(t, strings.Fields(long+long+"Tail"), strings.Fields(strings.Join(got, " ")), "not a word is lost")
	require.Equal(t, []string{"a b", "c"}, paragraphs("a\nb\n\n\n \n\nc\n"))
}

func TestACutSaysWhatItIsOf(t *testing.T) {
	var out strings.Builder
	s := newStory(&out)
	for _, e := range []event.Event{
		{Kind: event.LimiterCut, Source: "api", To: 36, Reason: "requests per second: measured"},
		{Kind: event.LimiterCut, Source: "api", From: 36, To: 18, Reason: "requests per second: measured"},
		{Kind: event.LimiterCut, Source: "api", From: 10, To: 6, Reason: "a cap"},
	} {
		e.Time = s.began
		s.Observe(e)
	}
	assert.Equal(t, `  0.00 s  api: down to 36 requests/s (requests per second: measured)
  0.00 s  api: down to 18 requests/s, from 36 (requests per second: measured)
  0.00 s  api: down to 6 in flight, from 10 (a cap)
`, out.String())
}
