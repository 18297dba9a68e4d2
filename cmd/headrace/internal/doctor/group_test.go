package doctor

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/group"
)

// follower is a replica that does not lead, and names the one that does.
func follower(t *testing.T, leader string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, `{"error":{"code":"NOT_LEADER","message":"this replica does not lead","leader":%q}}`, leader)
	}))
	t.Cleanup(s.Close)
	return s
}

// A leader on another host is not asked, because a member would not send it its token, and the report says so.
func TestTheLeaderIsOnAnotherHost(t *testing.T) {
	const elsewhere = "http://127.0.0.2:8790" // without TLS, only loopback addresses are followed at all
	s := follower(t, elsewhere)
	x := examining()
	x.group(t.Context(), "group:"+s.URL)
	require.Len(t, x.Groups, 1)
	g := x.Groups[0]
	assert.Equal(t, Absent, g.State)
	assert.Equal(t, []Replica{{URL: s.URL + group.Path, State: Follows, Leader: elsewhere + group.Path}}, g.Replicas)
	require.Len(t, x.Findings, 1)
	f := x.Findings[0]
	assert.Equal(t, GroupAbsent, f.Code)
	assert.Equal(t, Problem, f.Severity)
	assert.Equal(t, "the replicas name a leader that is not in the address, and members do not connect to it", f.Problem)
	assert.Equal(t, "add that replica to the address, or set the ca of the replicas: a member does not send its token to other hosts", f.Remedy)
	var text bytes.Buffer
	g.write(&text)
	assert.Equal(t, "group group:"+s.URL+": absent\n  "+s.URL+group.Path+" follows: "+elsewhere+group.Path+" leads\n\n", text.String())
}

// Replicas that name no leader are between two, or do not reach their Redis.
func TestNoReplicaLeads(t *testing.T) {
	s := follower(t, "")
	x := examining()
	x.group(t.Context(), "group:"+s.URL)
	assert.Equal(t, Absent, x.Groups[0].State)
	require.Len(t, x.Findings, 1)
	assert.Equal(t, "no replica is the leader", x.Findings[0].Problem)
	var text bytes.Buffer
	x.Groups[0].write(&text)
	assert.Equal(t, "group group:"+s.URL+": absent\n  "+s.URL+group.Path+" follows\n\n", text.String())
}
