package flow_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/flow"
)

// A report that is read has the durations that stand there, none that has
// overflowed, and columns of one length, and is written as it was read.
func FuzzReport(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		var r flow.Report
		if err := json.Unmarshal(text, &r); err != nil {
			if field, ok := errors.AsType[*fault.FieldError](err); ok {
				require.NotEmpty(t, field.Field)
			}
			return
		}
		var plain struct {
			Elapsed float64 `json:"elapsed_s"`
		}
		require.NoError(t, json.Unmarshal(text, &plain))
		require.InEpsilon(t, 1+math.Abs(plain.Elapsed), 1+math.Abs(r.Elapsed.Seconds()), 1e-6)
		require.Equal(t, plain.Elapsed < 0 && r.Elapsed != 0, r.Elapsed < 0)
		if r.Series != nil {
			for _, n := range r.Series.Nodes {
				require.Len(t, n.Done, len(r.Series.At))
			}
		}
		once, err := json.Marshal(r)
		require.NoError(t, err)
		var again flow.Report
		require.NoError(t, json.Unmarshal(once, &again), "%s", once)
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(once), string(twice))
	})
}
