package main

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/store/sqlitestore"
)

// Where no file can be locked, the journal says which process is at work.
func TestTwoProcessesOnOneJournal(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	var held atomic.Bool
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		held.Store(true)
		<-hold
		return nil
	}})
	p.requests(500)
	args := []string{"run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL() + "/v1", "--out", "-", "--journal", "j.db"}
	cmd := p.command(append(args, "--errors", "first.jsonl")...)
	p.end(cmd, func() error {
		require.NoError(t, cmd.Start())
		eventually(t, held.Load)
		for _, more := range []string{"--strict", "--fresh"} {
			status, out, errs := p.do(append(args, "--errors", "second.jsonl", more)...)
			assert.Equal(t, 2, status, more)
			assert.Regexp(t, `the results in - are being written by another process: process \d+ on .*, since .*: wait for it, stop it, or use another --out`, errs)
			assert.Empty(t, out)
		}
		require.NoError(t, cmd.Process.Kill())
		close(hold)
		return cmd.Wait()
	})
	status, _, errs := p.do(args...)
	assert.Equal(t, 0, status, errs)
	assert.Regexp(t, `500 requests: \d+ done(, \d+ done before)?, 0 failed, in`, errs, "nothing of the first was lost, and its claim died with it")
}

// Without its journal, a run cannot be resumed: the command to resume it would fail.
func TestAJournalThatIsDeleted(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var place *place
	p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
		if calls.Add(1) == 300 {
			_ = os.Remove(place.path("r.results.jsonl.journal"))
		}
		return nil
	}})
	place = p
	p.requests(2000)
	args := []string{"run", "r.jsonl", "--api-key-env", "KEY", "--base-url", p.provider.URL() + "/v1"}
	status, _, errs := p.do(args...)
	assert.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "headrace: the journal r.results.jsonl.journal failed: it was deleted, moved or replaced during the run\n"+
		"without it, the run cannot be resumed: if it was moved, put it back; if the requests were moved with it, name their new path; otherwise start over with --fresh, which overwrites the results (move them away to keep them)\n")
	assert.NotContains(t, errs, "resume with")
	status, _, errs = p.do(append(args, "--fresh")...)
	assert.Zero(t, status, errs)
	assert.Contains(t, errs, "2,000 requests: 2,000 done, 0 failed, in")
}

// Lines that another program removes from the results while they are written are written again by the next run, without a call.
func TestResultsThatAreTruncatedDuringTheRun(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{nil, {"--ordered"}} {
		var cut atomic.Bool
		var place *place
		p := newPlace(t, providertest.Config{Fault: func(providertest.Request) *providertest.Fault {
			if info, err := os.Stat(place.path("r.results.jsonl")); err == nil && info.Size() > 0 && cut.CompareAndSwap(false, true) {
				_ = os.Truncate(place.path("r.results.jsonl"), 0)
			}
			return nil
		}})
		place = p
		p.requests(2000)
		status, _, errs := p.run(more...)
		assert.Equal(t, 1, status, errs)
		assert.Contains(t, errs, "headrace: the results cannot be written: r.results.jsonl was truncated or extended by another program while it was being written: running again writes all of it\n")
		status, _, errs = p.run(more...)
		assert.Zero(t, status, errs)
		assert.Len(t, p.lines("r.results.jsonl"), 2000)
		assert.Equal(t, 2000, p.provider.Counts().Arrivals, "calls that were in flight by then are recorded")

		gap := strings.Repeat("\x00", 100) + p.read("r.results.jsonl")[:300]
		p.write("r.results.jsonl", gap)
		status, _, errs = p.run(more...)
		assert.Zero(t, status, errs)
		assert.Len(t, p.lines("r.results.jsonl"), 2000)

		p.write("r.results.jsonl", "mine\n")
		status, _, errs = p.run(more...)
		assert.Equal(t, 2, status)
		assert.Contains(t, errs, "headrace: r.results.jsonl holds something other than results: move it away, and this run's lines are written again from the journal r.results.jsonl.journal; "+
			"--fresh overwrites it, but sends all requests again\n")
		require.NoError(t, os.Remove(p.path("r.results.jsonl")))
		status, _, errs = p.run(more...)
		assert.Zero(t, status, errs)
		assert.Len(t, p.lines("r.results.jsonl"), 2000)
		assert.Equal(t, 2000, p.provider.Counts().Arrivals)
	}
}

// aged copies a journal and makes all its results that old.
func aged(t *testing.T, path string, age time.Duration) {
	t.Helper()
	from, err := sqlitestore.OpenJournal(path)
	require.NoError(t, err)
	to, err := sqlitestore.OpenJournal(path + ".aged")
	require.NoError(t, err)
	owner := journal.NewOwner()
	for run, err := range from.Runs(t.Context()) {
		require.NoError(t, err)
		parts := map[journal.Part]string{} // and their marks
		var records []journal.Record
		for r, err := range from.All(t.Context(), journal.Part{Run: run.Name}) {
			require.NoError(t, err)
			parts[r.Key.Part], records = "", append(records, r)
		}
		for part := range parts {
			_, err := from.Open(t.Context(), part, owner, "", time.Now())
			var version *journal.VersionError
			require.ErrorAs(t, err, &version)
			at, err := from.Open(t.Context(), part, owner, version.Recorded, time.Now())
			require.NoError(t, err)
			require.NoError(t, from.Release(t.Context(), part, owner))
			_, err = to.Open(t.Context(), part, owner, version.Recorded, time.Now())
			require.NoError(t, err)
			parts[part] = at.Mark
		}
		for _, r := range records {
			_, err := to.Begin(t.Context(), r.Key, r.Begun.Add(-age), false)
			require.NoError(t, err)
			r.Ended = r.Ended.Add(-age)
			_, err = to.Finish(t.Context(), r.Key.Part, owner, "", r)
			require.NoError(t, err)
		}
		for part, mark := range parts {
			_, err := to.Finish(t.Context(), part, owner, mark)
			require.NoError(t, err)
			require.NoError(t, to.Release(t.Context(), part, owner))
		}
	}
	require.NoError(t, errors.Join(from.Close(), to.Close(), os.Rename(path+".aged", path)))
}

func TestOldResultsAndResultsOfDeletedLinesAreReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(5)
	status, _, errs := p.run()
	require.Equal(t, 0, status, errs)
	assert.NotContains(t, errs, "older than a day")
	p.requests(3)
	status, _, errs = p.run()
	require.Equal(t, 0, status, errs)
	assert.Contains(t, errs, "3 done before")
	assert.Contains(t, errs, "\n2 results of requests that are no longer in r.jsonl (--fresh leaves them out)\n")
	assert.NotContains(t, errs, "older than a day")
	assert.Len(t, p.lines("r.results.jsonl"), 5)

	aged(t, p.path("r.results.jsonl.journal"), 25*time.Hour)
	status, _, errs = p.run("--report", "report.json")
	require.Equal(t, 0, status, errs)
	assert.Contains(t, errs, "\n3 resumed results older than a day (--fresh sends their requests again)\n")
	assert.Contains(t, p.read("report.json"), `"stale": 3`)
	assert.Contains(t, p.read("report.json"), `"leftover": 2`)
	assert.Len(t, p.lines("r.results.jsonl"), 5)
}

// A line that was corrected is another request: its failure is what is left, not a result.
func TestFailuresOfCorrectedLinesAreReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", request(0)+request(1)+unsendable)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "\ncorrect the invalid lines and use --retry-failed, which also removes their failures\n")
	assert.NotContains(t, errs, "retries the failures")
	p.write("r.jsonl", request(0)+request(2))
	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "\n1 result of requests that are no longer in r.jsonl (--fresh leaves them out)\n")
	assert.Contains(t, errs, "\n1 failure of requests that are no longer in r.jsonl (--retry-failed removes them from r.errors.jsonl)\n")
	assert.Len(t, p.lines("r.errors.jsonl"), 1)
	status, _, errs = p.run("--retry-failed")
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "\n1 result of requests that are no longer in r.jsonl: kept in the journal, but removed from r.results.jsonl\n")
	assert.Contains(t, errs, "\n1 failure of requests that are no longer in r.jsonl: kept in the journal, but removed from r.errors.jsonl\n")
	assert.NoFileExists(t, p.path("r.errors.jsonl"))
	assert.Equal(t, 3, p.provider.Counts().Arrivals)

	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "\n1 failure of requests that are no longer in r.jsonl: kept in the journal, but removed from r.errors.jsonl\n")
	p.write("r.jsonl", request(1)+request(2)+request(0)+unsendable)
	status, _, errs = p.run("--concurrency", "1")
	require.Equal(t, 1, status, errs)
	assert.NotContains(t, errs, "no longer in")
	assert.Len(t, p.lines("r.errors.jsonl"), 1)
	assert.Equal(t, []string{"r0", "r2", "r1"}, ids(p.lines("r.results.jsonl")), "it is added, and the others are not written again")
	assert.Equal(t, 3, p.provider.Counts().Arrivals)
}

func ids(all []line) (ids []string) {
	for _, l := range all {
		ids = append(ids, l.CustomID)
	}
	return ids
}

// A run with --ordered writes what the results lacked before. The next run without it does not take that for lines of others.
func TestLeftOutResultsThatARunInOrderHasWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", request(0)+request(1)+unsendable)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	p.write("r.jsonl", request(0))
	for _, flag := range []string{"--retry-failed", "--ordered", "--progress=off", "--progress=off"} {
		status, _, errs = p.run(flag)
		require.Zero(t, status, errs)
		p.requests(2)
	}
	assert.Equal(t, 2, unique(p.lines("r.results.jsonl")))
	assert.Len(t, p.lines("r.results.jsonl"), 2)
	assert.Equal(t, 2, p.provider.Counts().Arrivals)
}

// unauthorized rejects the key of each request while wrong is set.
func unauthorized(wrong *atomic.Bool) func(providertest.Request) *providertest.Fault {
	return func(providertest.Request) *providertest.Fault {
		if wrong.Load() {
			return &providertest.Fault{Status: 401}
		}
		return nil
	}
}

// A request that was begun has neither a result nor a failure if its line is deleted before the next run.
func TestUnfinishedRequestsOfDeletedLinesAreNotFailures(t *testing.T) {
	t.Parallel()
	var wrong atomic.Bool
	p := newPlace(t, providertest.Config{Fault: unauthorized(&wrong)})
	p.write("r.jsonl", request(0)+unsendable)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	wrong.Store(true)
	p.requests(20)
	status, _, errs = p.run()
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, "20 requests: 0 done, 1 done before, 0 failed, 19 left, in")
	wrong.Store(false)
	p.write("r.jsonl", request(30))
	status, _, errs = p.run("--report", "report.json")
	require.Zero(t, status, errs)
	assert.Contains(t, errs, "\n1 result of requests that are no longer in r.jsonl (--fresh leaves them out)\n")
	assert.Contains(t, errs, "\n1 failure of requests that are no longer in r.jsonl (--retry-failed removes them from r.errors.jsonl)\n")
	assert.Contains(t, p.read("report.json"), `"leftover": 2`)
}

// A run that writes the results again, and is stopped before it has, says which are missing.
func TestResultsThatAreNotWrittenAgainYet(t *testing.T) {
	t.Parallel()
	var wrong atomic.Bool
	p := newPlace(t, providertest.Config{Fault: unauthorized(&wrong)})
	p.requests(3)
	status, _, errs := p.run()
	require.Zero(t, status, errs)
	p.write("r.jsonl", request(10)+p.read("r.jsonl"))
	wrong.Store(true)
	const behind = "3 results recorded in r.results.jsonl.journal, but not written again to r.results.jsonl yet: the next run writes them\n"
	status, _, errs = p.run("--concurrency", "1")
	require.Equal(t, 1, status, errs)
	assert.NotContains(t, errs, "not written again")
	assert.Len(t, p.lines("r.results.jsonl"), 3)

	p.write("r.results.jsonl", strings.Replace(p.read("r.results.jsonl"), "chat.completion", "chat_completion", 1))
	status, _, errs = p.run("--concurrency", "1")
	require.Equal(t, 1, status, errs)
	assert.Contains(t, errs, behind)
	assert.Empty(t, p.lines("r.results.jsonl"))
	wrong.Store(false)
	status, _, errs = p.run()
	require.Zero(t, status, errs)
	assert.NotContains(t, errs, "not written again")
	assert.Len(t, p.lines("r.results.jsonl"), 4)
}

// Where the results are written again, those of deleted lines are in the journal only.
func TestResultsOfDeletedLinesThatAreLeftOutAreReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.write("r.jsonl", request(0)+request(1)+request(2)+unsendable)
	status, _, errs := p.run()
	require.Equal(t, 1, status, errs)
	for _, flag := range []string{"--retry-failed", "--ordered"} {
		p.write("r.jsonl", request(0)+unsendable)
		status, _, errs = p.run(flag)
		require.Equal(t, 1, status, errs)
		assert.Contains(t, errs, "\n2 results of requests that are no longer in r.jsonl: kept in the journal, but removed from r.results.jsonl\n")
		assert.Len(t, p.lines("r.results.jsonl"), 1)

		p.write("r.jsonl", request(0)+request(1)+request(2)+unsendable)
		status, _, errs = p.run(flag)
		require.Equal(t, 1, status, errs)
		assert.Len(t, p.lines("r.results.jsonl"), 3)
	}
	assert.Equal(t, 3, p.provider.Counts().Served)
}

// A byte that was changed anywhere in the results is noticed, and they are written again without a call.
func TestAChangedByteInTheResults(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(4)
	status, _, errs := p.run("--concurrency", "1")
	require.Equal(t, 0, status, errs)
	text := p.read("r.results.jsonl")
	changed := []byte(text)
	changed[len(text)/3] ^= 1
	p.write("r.results.jsonl", string(changed))
	status, _, errs = p.run("--concurrency", "1")
	require.Equal(t, 0, status, errs)
	assert.Equal(t, text, p.read("r.results.jsonl"))
	assert.Equal(t, 4, p.provider.Counts().Arrivals)
}
