package providertest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/providertest"
	"github.com/stretchr/testify/require"
)

func TestAudit(t *testing.T) {
	s := newServer(t, providertest.Config{
		Limits: providertest.Limits{Window: providertest.FixedWindow{Max: 6, Per: time.Hour}},
	})
	for _, key := range []string{"once", "twice", "stranger", "twice", "", "again", "refused", "alien"} {
		send(t, s.Transport(), base, key, hello)
	}
	ledger := s.Ledger()
	require.Equal(t, map[string]int{"once": 1, "twice": 2, "stranger": 1, "again": 1, "refused": 0, "alien": 0}, ledger.ByKey())

	got := ledger.Audit(slices.Values([]string{"never", "twice", "once", "refused", "never", "again"}))
	require.Equal(t, providertest.Audit{
		Lost:    []string{"never", "refused"},
		Twice:   []string{"twice"},
		Unknown: []string{"stranger", "alien"},
		Keyless: 1,
	}, got)
	require.False(t, got.OK())

	got = ledger.Audit(slices.Values([]string(nil)))
	require.Equal(t, []string{"once", "twice", "stranger", "again", "refused", "alien"}, got.Unknown)
}

func TestAuditOfACleanRun(t *testing.T) {
	s := newServer(t, providertest.Config{})
	keys := []string{"a", "b", "c"}
	for _, key := range keys {
		send(t, s.Transport(), base, key, hello)
	}
	audit := s.Ledger().Audit(slices.Values(keys))
	require.Equal(t, providertest.Audit{}, audit)
	require.True(t, audit.OK())
}

func TestLedgerIsASnapshot(t *testing.T) {
	s := newServer(t, providertest.Config{})
	before := s.Ledger()
	send(t, s.Transport(), base, "k", hello)
	require.Empty(t, slices.Collect(before.All()))
	require.Zero(t, before.Counts)
	require.Len(t, slices.Collect(s.Ledger().All()), 1)
}
