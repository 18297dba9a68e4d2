package journal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headrace/headrace/journal"
)

func TestHeldErrorNamesTheOtherRunAndTheRemedy(t *testing.T) {
	part := journal.Part{Run: "r", Node: "n"}
	at := time.Date(2026, 11, 22, 10, 0, 5, 0, time.Local)
	of := func(o journal.Owner) journal.Lease { return journal.Lease{Owner: o, Since: at, Renewed: at} }
	there := of(journal.Owner{ID: "1", Host: "build-3", PID: 4711})
	assert.EqualError(t, there.Refuse(part, 30*time.Second), `journal: run "r", node "n": another run is recording it: process 4711 on build-3, `+
		`since 2026-11-22 10:00:05: wait for it, stop it, or use another run name. If it is dead, try again after 2026-11-22 10:00:35`)
	assert.EqualError(t, of(journal.Owner{ID: "1", PID: 4711}).Refuse(part, 0), `journal: run "r", node "n": another run is recording it: process 4711, `+
		`since 2026-11-22 10:00:05: wait for it, stop it, or use another run name`)
	assert.Regexp(t, `another run is recording it: this process \(\d+\), since`, of(journal.NewOwner()).Refuse(part, 0).Error())
	assert.EqualError(t, &journal.HeldError{Part: part, Lease: there, Lost: true}, `journal: run "r", node "n": another run has taken it over: `+
		`process 4711 on build-3, at 2026-11-22 10:00:05. What was not recorded is left to that run`)
	assert.EqualError(t, &journal.HeldError{Part: part, Lost: true}, `journal: run "r", node "n": another run has taken it over meanwhile, and has ended: run it again to resume`)
}

func TestOwnersOfOneProcessDiffer(t *testing.T) {
	a, b := journal.NewOwner(), journal.NewOwner()
	assert.NotEqual(t, a.ID, b.ID)
	assert.Equal(t, a.Process, b.Process)
	assert.NotEmpty(t, a.Process)
	assert.Positive(t, a.PID)
}
