package service_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/service"
	"github.com/headrace/headrace/throttle"
)

// Members join by the address of the service, with its token, and leave when the handler is closed.
func TestTheGroupOfAService(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef0123456789abcdef"
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	h, err := group.NewHandler(group.HandlerConfig{})
	require.NoError(t, err)
	s, err := service.New(t.Context(), service.Config{Group: h, Text: []byte("runtime: {auth: {token_file: " + file + "}}\n")})
	require.NoError(t, err)
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	join := func(with string) *group.Group {
		g, err := group.Join(t.Context(), "http://"+l.Addr().(*net.TCPAddr).String()+with)
		require.NoError(t, err)
		t.Cleanup(g.Close)
		return g
	}
	stranger := join("")
	assert.Equal(t, group.Alone, stranger.Stats().Role)
	assert.Contains(t, stranger.Stats().Reason, "refuses the token with status 401")
	stranger.Close()

	member := join("?token-file=" + file)
	assert.Equal(t, group.Following, member.Stats().Role)
	one, err := member.Guard(guard.Policy{Name: "k"})
	require.NoError(t, err)
	call := func() error {
		return one.Do(t.Context(), throttle.Cost{}, func(context.Context) error { return nil })
	}
	require.NoError(t, call())
	stop()
	require.NoError(t, <-served)
	require.NoError(t, call(), "the connections of members go on")
	h.Close()
	require.Eventually(t, func() bool { return member.Stats().Role == group.Alone }, patience, 5*time.Millisecond)
	require.NoError(t, call())
	require.NoError(t, s.Close())
}
