package group_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/group"
)

// Asking is not joining, and one replica's trouble is not that of the others.
func TestReplicas(t *testing.T) {
	h, err := group.NewHandler(group.HandlerConfig{})
	require.NoError(t, err)
	defer h.Close()
	up := httptest.NewServer(h)
	defer up.Close()
	down := httptest.NewServer(h)
	down.Close()
	all, err := group.Replicas(t.Context(), up.URL+","+down.URL)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, group.Replica{URL: up.URL + group.Path, Leads: true}, all[0])
	assert.Equal(t, down.URL+group.Path, all[1].URL)
	require.Error(t, all[1].Err)
	assert.False(t, all[1].Leads)
	assert.Zero(t, h.Stats().Members)

	for _, address := range []string{"", "unix:/x", "http://limits.internal", "https://u:p@h"} {
		_, err = group.Replicas(t.Context(), address)
		require.ErrorAs(t, err, new(*fault.FieldError), address)
	}
}

// A token is not sent to every host that a replica names as the leader.
func TestReplicasDoesNotSendATokenElsewhere(t *testing.T) {
	t.Setenv(group.TokenEnv, "hunter2")
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	follower := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":"NOT_LEADER","leader":"`+elsewhere+`"}}`)
	}))
	defer follower.Close()
	all, err := group.Replicas(t.Context(), follower.URL)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, elsewhere+group.Path, all[0].Leader)
	assert.False(t, asked)
}
