package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

const unsendable = `{"custom_id":"bad","method":"GET","url":"/v1/x","body":{}}` + "\n"

// Two runs with one file of failures: the one without failures used to empty and remove it.
func TestFailuresOfAnotherRunStay(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	status, _, errs := p.run("--errors", "e.jsonl")
	require.Zero(t, status, errs)
	p.write("other.jsonl", request(7)+unsendable)
	other := []string{"run", "other.jsonl", "--errors", "e.jsonl", "--base-url", p.provider.URL() + "/v1"}
	status, _, errs = p.do(other...)
	require.Equal(t, 1, status, errs)
	failures := p.read("e.jsonl")
	require.NotEmpty(t, failures)

	status, _, errs = p.run("--errors", "e.jsonl")
	require.Equal(t, 2, status, errs)
	assert.Contains(t, errs, "e.jsonl has lines that are not recorded in the journal r.results.jsonl.journal: use another --errors, and this run's lines are rewritten from the journal; or overwrite the file with --fresh, which sends")
	assert.Equal(t, failures, p.read("e.jsonl"))
	status, _, errs = p.run("--errors", "f.jsonl")
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "0 done, 3 done before")
	status, _, errs = p.do(other...)
	assert.Equal(t, 1, status, errs)
	assert.Equal(t, failures, p.read("e.jsonl"))
}

// Results are not emptied because of a run that was stopped before it had any.
func TestResultsStayWhereTheJournalHasNone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		if r.Key == "" {
			return nil
		}
		return &providertest.Fault{Status: 401}
	}})
	p.requests(3)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	good := newPlace(t, providertest.Config{})
	good.requests(3)
	status, _, errs = good.run()
	require.Zero(t, status, errs)
	paid := good.read("r.results.jsonl")
	require.NoError(t, os.WriteFile(p.path("r.results.jsonl"), []byte(paid), 0o600))

	status, _, errs = p.run()
	assert.Equal(t, 2, status, errs)
	assert.Contains(t, errs, "r.results.jsonl has lines that are not recorded in the journal r.results.jsonl.journal")
	assert.Equal(t, paid, p.read("r.results.jsonl"))
}

func TestLinesThatWereAppendedStay(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(3)
	status, _, errs := p.run()
	require.Zero(t, status, errs)
	more := p.read("r.results.jsonl") + `{"mine":1}` + "\n"
	p.write("r.results.jsonl", more)
	status, _, errs = p.run()
	assert.Equal(t, 2, status, errs)
	assert.Equal(t, more, p.read("r.results.jsonl"))
	assert.Contains(t, errs, ": move r.results.jsonl away, and this run's lines are rewritten")
	require.NoError(t, os.Rename(p.path("r.results.jsonl"), p.path("mine.jsonl")))
	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "0 done, 3 done before")
	assert.Len(t, p.lines("r.results.jsonl"), 3)
	p.write("r.results.jsonl", more)
	status, _, errs = p.run("--fresh")
	require.Zero(t, status, errs)
	assert.Len(t, p.lines("r.results.jsonl"), 3)
}
