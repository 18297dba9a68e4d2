package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/process"
)

// An identity is read only as it is written. One that is not known to be of
// this machine is never said to be gone.
func FuzzParse(f *testing.F) {
	f.Add(process.Self().String())
	f.Fuzz(func(t *testing.T, text string) {
		i, ok := process.Parse(text)
		if !ok {
			require.Zero(t, i)
			return
		}
		require.Equal(t, text, i.String())
		gone := i.Gone()
		if i == process.Self() || i.Machine != process.Self().Machine {
			require.False(t, gone)
		}
		again, ok := process.Parse(i.String())
		require.True(t, ok)
		require.Equal(t, i, again)
	})
}
