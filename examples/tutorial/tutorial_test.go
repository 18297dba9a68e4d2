package tutorial_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/examples/tutorial"
	"github.com/headrace/headrace/examples/tutorial/fake"
	"github.com/headrace/headrace/examples/tutorial/openai"
	"github.com/headrace/headrace/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	_ tutorial.Model = (*fake.Model)(nil)
	_ tutorial.Model = (*openai.Model)(nil)
)

// Each file in testdata is what the program of that name prints. In that of
// 7resume the figures are those of one kill, and of another kill they differ.
func TestThePrograms(t *testing.T) {
	folder := build(t)
	want := func(name string) string {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		require.NoError(t, err)
		return string(text)
	}
	for _, name := range []string{"1list", "2limits", "3failures", "4progress", "5flow", "6nested"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, progress, err := start(t, folder, name)
			require.NoError(t, err, "%s%s", out, progress)
			assert.Equal(t, want(name), out)
			if name == "4progress" {
				assert.Regexp(t, `summarise: limiter summarise: \d+ calls, \d+ refusals?, \d+ cuts?
summarise: finished in \S+, 18 of 18 \(100%\), \S+/s on average\n$`, progress)
			} else {
				assert.Empty(t, progress)
			}
		})
	}
	t.Run("7resume", func(t *testing.T) {
		t.Parallel()
		kept := filepath.Join(t.TempDir(), "journal.db")
		figures := regexp.MustCompile(`texts: (\d+) from the journal, (\d+) done now\nnotes: (\d+) from the journal, (\d+) done now\nanswers now: (\d+)\n$`)
		goesOn := func() (texts, textsNow, notes, notesNow, answers int) {
			out, _, err := start(t, folder, "7resume", "-journal", kept)
			require.NoError(t, err, out)
			at := figures.FindStringIndex(out)
			require.NotNil(t, at, out)
			cards, _, _ := strings.Cut(want("7resume"), "texts:")
			require.Equal(t, cards, out[:at[0]])
			_, err = fmt.Sscanf(out[at[0]:], "texts: %d from the journal, %d done now\nnotes: %d from the journal, %d done now\nanswers now: %d",
				&texts, &textsNow, &notes, &notesNow, &answers)
			require.NoError(t, err)
			return texts, textsNow, notes, notesNow, answers
		}

		die(t, folder, "-journal", kept, "-fresh", "-kill", "1")
		die(t, folder, "-journal", kept, "-kill", "20")
		texts, textsNow, notes, notesNow, answers := goesOn()
		assert.Equal(t, 6, texts+textsNow)
		assert.Equal(t, 3*textsNow, notes+notesNow, "the notes of a text that is done are not looked at")
		assert.Positive(t, texts+notes, "20 answers are not to be had before some notes are recorded")
		assert.LessOrEqual(t, answers, 50-3*texts-notes, "nothing that was recorded is asked again")

		texts, textsNow, notes, notesNow, answers = goesOn()
		assert.Equal(t, [5]int{6}, [5]int{texts, textsNow, notes, notesNow, answers})
		die(t, folder, "-journal", kept, "-fresh", "-kill", "1")

		assert.Regexp(t, figures, want("7resume"))
		cards, _, _ := strings.Cut(want("6nested"), "6 texts")
		assert.True(t, strings.HasPrefix(want("7resume"), cards), "what was killed gives the same as what was not")
	})
}

// start runs a program to its end.
func start(t *testing.T, folder, name string, args ...string) (out, progress string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(folder, name), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// die runs 7resume, which kills itself.
func die(t *testing.T, folder string, args ...string) {
	t.Helper()
	out, _, err := start(t, folder, "7resume", args...)
	require.Error(t, err)
	require.Empty(t, out)
	if runtime.GOOS != "windows" {
		require.EqualError(t, err, "signal: killed")
	}
}

// build links all programs at once, and returns the folder where they are.
func build(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	main, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	require.Len(t, main, 7)
	for i := range main {
		main[i] = "./" + filepath.Dir(main[i])
	}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-ldflags=-s -w", "-o", folder}, main...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)

	// What a test has looked at go test compares before it takes a result from its cache.
	list := []string{"list", "-deps", "-f", "{{if not .Standard}}{{.Dir}}{{end}}"}
	out, err = exec.CommandContext(t.Context(), "go", append(list, main...)...).Output()
	require.NoError(t, err)
	for dir := range strings.Lines(string(out)) {
		_, err := os.ReadDir(strings.TrimSpace(dir))
		require.NoError(t, err)
	}
	return folder
}

// The tutorial promises that another model is another constructor.
func TestAProgramKnowsNoMoreThanAModel(t *testing.T) {
	programs, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	for _, program := range programs {
		text, err := os.ReadFile(program)
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(text), "fake."), "%s: besides fake.New", program)
		for _, called := range regexp.MustCompile(`\bmodel\.(\w+)`).FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, []string{"Ask", "Close"}, called[1], program)
		}
		command := "go run ./examples/tutorial/" + filepath.Dir(program)
		assert.Contains(t, string(text), "//\t"+command+"\n")
		assert.Contains(t, string(page), "\n"+command, "docs/tutorial.md does not run it")
		assert.Contains(t, string(page), "<!-- from: examples/tutorial/testdata/"+filepath.Dir(program)+".txt -->")
	}
}

func TestTheSDK(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	_, err := openai.New("m")
	require.ErrorContains(t, err, "OPENAI_API_KEY is not set")

	t.Setenv("OPENAI_API_KEY", "none")
	var refuse atomic.Bool
	provider, err := providertest.New(providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		if refuse.Load() {
			return &providertest.Fault{Status: 429, Header: map[string][]string{"Retry-After": {"7"}}}
		}
		assert.Equal(t, "Do it.", r.Messages[0].Content)
		return nil
	}})
	require.NoError(t, err)
	defer provider.Close()
	model, err := openai.New("m", option.WithBaseURL(provider.URL()+"/v1"), option.WithHTTPClient(provider.Client()))
	require.NoError(t, err)
	defer model.Close()
	answer, err := model.Ask(t.Context(), "Do it.", "One thing. Another thing.")
	require.NoError(t, err)
	assert.Equal(t, "One thing.", answer)

	refuse.Store(true)
	_, err = model.Ask(t.Context(), "Do it.", "One thing.")
	require.Error(t, err)
	assert.Equal(t, adaptive.Hit, adaptive.DefaultDetector(err).Verdict, "a limiter knows it for a refusal")
	assert.Equal(t, 2, provider.Counts().Arrivals, "the SDK does not retry")
}

func TestTexts(t *testing.T) {
	texts := tutorial.Texts()
	require.Len(t, texts, 6)
	for _, text := range texts {
		assert.NotEmpty(t, text.Title)
		assert.Len(t, strings.Split(text.Body, "\n\n"), 3, text.Title)
	}
}

func TestAFakeThatCannotBe(t *testing.T) {
	_, err := fake.New(providertest.Config{Limits: providertest.Limits{Concurrency: -1}})
	require.ErrorContains(t, err, "Limits.Concurrency: must not be negative")
}
