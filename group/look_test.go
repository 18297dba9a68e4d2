package group_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/group"
)

// Looking is not joining, and one replica's trouble is not that of the others.
func TestLook(t *testing.T) {
	h, err := group.NewHandler(group.HandlerConfig{})
	require.NoError(t, err)
	defer h.Close()
	up := httptest.NewServer(h)
	defer up.Close()
	down := httptest.NewServer(h)
	down.Close()
	all, err := group.Look(t.Context(), up.URL+","+down.URL)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, group.Replica{URL: up.URL + group.Path, Leads: true}, all[0])
	assert.Equal(t, down.URL+group.Path, all[1].URL)
	require.Error(t, all[1].Err)
	assert.False(t, all[1].Leads)
	assert.Zero(t, h.Stats().Members)

	for _, address := range []string{"", "unix:/x", "http://limits.internal", "https://u:p@h"} {
		_, err = group.Look(t.Context(), address)
		require.ErrorAs(t, err, new(*fault.FieldError), address)
	}
}
