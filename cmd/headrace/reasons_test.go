package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

// failures is a provider that answers the nth request with what status and body return; status 0 is a success.
func failures(fault func(n int) (status int, message string)) providertest.Config {
	return providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		var n int
		if _, err := fmt.Sscanf(r.Messages[0].Content, "Tell <b>%d</b>.", &n); err != nil {
			panic(err)
		}
		status, message := fault(n)
		if status == 0 {
			return nil
		}
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message}})
		return &providertest.Fault{Status: status, Body: string(body)}
	}}
}

// The summary says why most requests failed: by status and message, the most frequent first.
func TestTheReasonsOfFailures(t *testing.T) {
	t.Parallel()
	p := newPlace(t, failures(func(n int) (int, string) {
		switch {
		case n == 0:
			return 0, ""
		case n == 1:
			return 404, "no such model"
		case n == 5, n == 6:
			return 409, fmt.Sprintf("conflict %c", 'a'+n)
		case n < 5:
			return 400, fmt.Sprintf("message %d is too long", n)
		}
		return 403, "the project may not use this model\nask " + canary
	}))
	p.requests(40)
	status, _, errs := p.run("--report", "report.json", "--concurrency", "1")
	require.Equal(t, 1, status)
	want := `
failures: r.errors.jsonl
  33 with status 403: the project may not use this model ask REDACTED
  3 with status 400, for example: message 2 is too long
  1 with status 404: no such model
  2 for other reasons
--retry-failed`
	assert.Contains(t, errs, want)
	var report struct {
		Causes []struct {
			Code, Message string
			Status, Count int
			Differ        bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(p.read("report.json")), &report))
	require.Len(t, report.Causes, 5)
	assert.EqualValues(t, report.Causes[1], struct {
		Code, Message string
		Status, Count int
		Differ        bool
	}{"status_400", "message 2 is too long", 400, 3, true})

	status, _, errs = p.run("--concurrency", "1") // those of an earlier run
	require.Equal(t, 1, status)
	assert.Contains(t, errs, want)

	status, _, errs = p.run("--fresh", "--concurrency", "1", "--max-failures", "5")
	require.Equal(t, 1, status)
	assert.Contains(t, errs, "\n  3 with status 400, for example: message 2 is too long\n")
}

// A run that stops because of the cause gives it once.
func TestOneCauseIsGivenOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, failures(func(int) (int, string) { return 403, "the project may not use this model" }))
	p.requests(30)
	status, _, errs := p.run("--concurrency", "1", "--progress", "off")
	require.Equal(t, 3, status)
	assert.Equal(t, 1, strings.Count(errs, "\nheadrace: stopped: the first 20 requests"))
	assert.NotContains(t, errs, " with status 403")
}
