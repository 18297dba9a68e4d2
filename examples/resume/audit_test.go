package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/providertest"
	"github.com/headrace/headrace/store/sqlitestore"
)

// ledgerAudit joins the provider's ledger with what is on disk after each kill.
type ledgerAudit struct {
	settings

	recorded []map[string]string // after each kill, the results by text
	hung     [][]string          // with what it hung at a failpoint
}

func newAudit(s settings) *ledgerAudit { return &ledgerAudit{settings: s} }

// records reads the results that the journal at path has.
func (a *ledgerAudit) records(t *testing.T, path string) map[string]string {
	t.Helper()
	j, err := sqlitestore.OpenJournal(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	all := map[string]string{}
	for r, err := range j.All(t.Context(), journal.Part{Run: a.run, Node: "summarise"}) {
		require.NoError(t, err)
		require.Zero(t, r.Key.Occurrence)
		if r.State != journal.Done {
			require.Equal(t, journal.Pending, r.State)
			continue
		}
		var value string
		require.NoError(t, json.Unmarshal(r.Value, &value))
		all[r.Key.Content] = value
	}
	return all
}

// lines reads the output. What follows the last line was cut off by a kill.
func (a *ledgerAudit) lines(t *testing.T) (values map[string]string, twice int, rest []byte) {
	t.Helper()
	text, err := os.ReadFile(a.out)
	if !os.IsNotExist(err) { // it was killed before it began
		require.NoError(t, err)
	}
	values = map[string]string{}
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			return values, twice, line
		}
		var r struct{ Key, State, Value string }
		require.NoError(t, json.Unmarshal(line, &r))
		require.Equal(t, "done", r.State)
		if _, known := values[r.Key]; known {
			twice++
		}
		values[r.Key] = r.Value
	}
	return values, twice, nil
}

// group is how many results are committed together at most.
const group = 256

// afterKill notes what has outlived it, and returns how many records: none is lost, each line is of a
// record, and no more than those of one commit have no line yet.
func (a *ledgerAudit) afterKill(t *testing.T, k kill, hung []string) (recorded int) {
	t.Helper()
	now := a.records(t, copied(t, a.journal))
	lines, twice, _ := a.lines(t)
	assert.Zero(t, twice)
	assert.Subset(t, now, lines)
	assert.LessOrEqual(t, len(now)-len(lines), group)
	if n := len(a.recorded); n > 0 {
		assert.Subset(t, now, a.recorded[n-1])
	}
	for _, id := range hung {
		if k.how == "line" {
			assert.Contains(t, now, id, "it was to hang after the commit")
		} else {
			assert.NotContains(t, now, id, "it was to hang before the commit")
		}
		assert.NotContains(t, lines, id)
	}
	a.recorded, a.hung = append(a.recorded, now), append(a.hung, hung)
	return len(now)
}

// verdict is what the ledger says of all lives.
type verdict struct {
	calls, again       int
	unrecorded, served int // calls that had no record when their life ended
	committed, twice   int // texts with a line in the output, and lines too many
}

// judge is called when the last life has ended by itself.
func (a *ledgerAudit) judge(t *testing.T, ledger providertest.Ledger, texts int) (v verdict) {
	t.Helper()
	calls, served := map[string]int{}, map[string]bool{} // by text; by "life/text"
	for arrival := range ledger.All() {
		var life int
		var id string
		_, err := fmt.Sscanf(strings.Replace(arrival.Key, "/", " ", 1), "%d %s", &life, &id)
		require.NoError(t, err)
		require.Equal(t, 1, arrival.Attempt, "%s was called twice in one life", arrival.Key)
		calls[id]++
		v.calls++
		if arrival.Served() {
			served[arrival.Key] = true
		}
		if life > 0 {
			assert.NotContains(t, a.recorded[life-1], id, "life %d has paid again for what is recorded", life)
		}
		if life < len(a.recorded) && a.recorded[life][id] == "" {
			v.unrecorded++
			if arrival.Served() {
				v.served++
			}
		}
	}
	for life, hung := range a.hung {
		for _, id := range hung {
			assert.True(t, served[fmt.Sprintf("%d/%s", life, id)], "%s hung in life %d without an answer", id, life)
		}
	}
	want := map[string]string{}
	for text, err := range readTexts(a.in) {
		require.NoError(t, err)
		want[text.ID] = "about " + text.ID
		assert.Positive(t, calls[text.ID], "%s is lost", text.ID)
		v.again += calls[text.ID] - 1
	}
	require.Len(t, want, texts)
	assert.Len(t, calls, texts, "no other text was asked for")
	assert.LessOrEqual(t, v.again, v.unrecorded)

	assert.True(t, maps.Equal(want, a.records(t, a.journal)), "the journal has every text once")
	lines, twice, rest := a.lines(t)
	assert.True(t, maps.Equal(want, lines), "the output has every text")
	assert.Zero(t, twice)
	assert.Empty(t, rest)
	v.committed, v.twice = len(lines), twice
	return v
}
