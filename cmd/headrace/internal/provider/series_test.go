package provider_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/cmd/headrace/internal/provider"
	"github.com/headrace/headrace/providertest"
)

// Each request is in the part of its time. A series does not get long, however long its time does.
func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := 0
		s, err := provider.New(provider.Config{Text: "3/s", Config: providertest.Config{
			Limits: providertest.Limits{Rate: providertest.Bucket{PerSecond: 3, Burst: 3}},
			Fault: func(providertest.Request) *providertest.Fault {
				if faults++; faults%6 == 0 {
					return &providertest.Fault{Status: http.StatusInternalServerError}
				}
				return nil
			},
		}})
		require.NoError(t, err)
		defer s.Close()
		h := s.Handler()
		l := s.Reveal(time.Second)
		assert.Nil(t, l.Series, "nobody has come")
		for range 3 { // five at once, every two seconds
			for range 5 {
				ask(h)
			}
			time.Sleep(2 * time.Second)
		}
		status, text := call(h, http.MethodGet, "/_ledger?every=1s", "")
		require.Equal(t, http.StatusOK, status)
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		require.NotNil(t, l.Series)
		assert.Equal(t, provider.Series{Every: 1, Served: []int{3, 0, 3, 0, 3}, Refused: []int{2, 0, 1, 0, 1}, Faulted: []int{0, 0, 1, 0, 1}}, *l.Series)
		assert.InDelta(t, 3.0, l.Limits[0].Rate, 1e-9)
		_, text = call(h, http.MethodGet, "/_ledger", "")
		assert.NotContains(t, text, "Series")

		time.Sleep(10 * time.Hour)
		ask(h)
		l = s.Reveal(time.Second)
		assert.InDelta(t, 64.0, l.Series.Every, 0)
		assert.Len(t, l.Series.Served, 36006/64+1)
		assert.Equal(t, []int{9, 1}, []int{l.Series.Served[0], l.Series.Served[len(l.Series.Served)-1]})
		for _, every := range []string{"often", "-1s", "1us"} {
			status, text = call(h, http.MethodGet, "/_ledger?every="+every, "")
			assert.Equal(t, http.StatusBadRequest, status, every)
			assert.Contains(t, text, "such as 1s")
		}
	})
}
