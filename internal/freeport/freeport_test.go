package freeport

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChoose(t *testing.T) {
	const ephemeral = 32_768 // the first port that Linux chooses by itself
	for range 100 {
		port, err := Choose(t.Context(), 10_000)
		require.NoError(t, err)
		require.GreaterOrEqual(t, port, 1024)
		require.Less(t, port+10_000, ephemeral)
	}
	at, err := Address(t.Context())
	require.NoError(t, err)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", at)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	assert.False(t, free(t.Context(), l.Addr().(*net.TCPAddr).Port), "it is taken")
}
