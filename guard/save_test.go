package guard_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/guard"
)

func TestWhatWasLearnedIsSavedAndRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := made(t, guard.Policy{Law: adaptive.Measured{Prior: perSecond(10)}})
		saved, err := first.Save()
		require.NoError(t, err)

		second := made(t, guard.Policy{})
		require.NoError(t, second.Restore(saved))
		assert.Equal(t, first.Stats().View.Pace, second.Stats().View.Pace)
		again, err := second.Save()
		require.NoError(t, err)
		assert.JSONEq(t, string(saved), string(again))

		var wrong *adaptive.SavedError
		require.ErrorAs(t, second.Restore([]byte(`{"law":"aimd","window":9}`)), &wrong)
		assert.ErrorContains(t, wrong, `adaptive: the controller measured cannot restore this state: it was saved by the controller "aimd"`)
		require.ErrorAs(t, second.Restore([]byte(`not JSON`)), &wrong)
		assert.Equal(t, first.Stats().View.Pace, second.Stats().View.Pace, "a failed Restore changes nothing")
	})
}

// What another version saved may mean something else.
func TestWhatAnotherVersionSavedIsNotRestored(t *testing.T) {
	l := made(t, guard.Policy{Law: adaptive.Measured{}})
	for _, version := range []string{`"version":2`, `"version":-1`, `"in_flight":3`} {
		err := l.Restore([]byte(`{"law":"measured",` + version + `}`))
		require.ErrorAs(t, err, new(*adaptive.SavedError), version)
		assert.ErrorContains(t, err, "has version", version)
	}
	assert.NoError(t, l.Restore([]byte(`{"law":"measured","version":1}`)))
}

func TestAIMDIsSavedAndRestored(t *testing.T) {
	l := made(t, guard.Policy{Law: adaptive.AIMD{Initial: 8, Max: 40}})
	l.Learn(time.Now(), of(adaptive.Hit))
	saved, err := l.Save()
	require.NoError(t, err)
	assert.JSONEq(t, `{"law":"aimd","window":4}`, string(saved))
	l = made(t, guard.Policy{Law: adaptive.AIMD{Max: 3}})
	require.NoError(t, l.Restore(saved))
	assert.Equal(t, 3, l.Stats().View.Concurrency, "never above Max")
	require.ErrorAs(t, l.Restore([]byte(`{"law":"measured"}`)), new(*adaptive.SavedError))
}

func TestALawThatCannotBeSaved(t *testing.T) {
	l := made(t, guard.Policy{Law: unbounded{}})
	_, err := l.Save()
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, l.Restore(nil), errors.ErrUnsupported)
}

func TestRestoreKeepsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := made(t, guard.Policy{Law: adaptive.Measured{}})
		saved, err := l.Save()
		require.NoError(t, err)
		l.Learn(time.Now(), hitAfter(time.Minute))
		gate := l.Stats().View.GateUntil
		require.NoError(t, l.Restore(saved))
		assert.Equal(t, gate, l.Stats().View.GateUntil)
	})
}
