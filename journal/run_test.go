package journal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/journal"
)

func TestTheRunHasAName(t *testing.T) {
	assert.Equal(t, journal.DefaultRun, journal.RunFrom(t.Context()))
	assert.Equal(t, "mine", journal.RunFrom(journal.WithRun(t.Context(), "mine")))
}

func TestVersionErrorNamesTheRemedy(t *testing.T) {
	err := &journal.VersionError{Part: journal.Part{Run: "r", Node: "n"}, Recorded: "v1", Wanted: "v2"}
	assert.EqualError(t, err, `journal: run "r", node "n": its results are of version "v1", and this is "v2": `+
		`use another run name, or forget the run and begin it again`)
}

func TestStatesHaveNames(t *testing.T) {
	assert.Equal(t, "unknown pending done failed State(4)", journal.Unknown.String()+" "+journal.Pending.String()+" "+
		journal.Done.String()+" "+journal.Failed.String()+" "+(journal.Failed+1).String())
}
