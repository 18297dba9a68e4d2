package envoy_test

import (
	"encoding/json"
	"os"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/headrace/headrace/internal/yamldoc"
	"github.com/headrace/headrace/service/internal/envoy"
	"github.com/headrace/headrace/service/internal/rules"
)

// The configurations in docs/envoy.md are what Envoy and the service read.
func TestTheConfigurationsInTheGuide(t *testing.T) {
	read := func(name, key string, m proto.Message) {
		t.Helper()
		data, err := os.ReadFile("testdata/guide/" + name)
		require.NoError(t, err)
		doc, err := yamldoc.Read(data)
		require.NoError(t, err)
		var lists map[string][]json.RawMessage
		require.NoError(t, json.Unmarshal(doc.JSON, &lists))
		require.Len(t, lists[key], 1)
		require.NoError(t, protojson.Unmarshal(lists[key][0], m))
	}
	var c cluster.Cluster
	read("cluster.yaml", "clusters", &c)
	require.NoError(t, c.ValidateAll())
	var f manager.HttpFilter
	read("filter.yaml", "http_filters", &f)
	var limit filter.RateLimit
	require.NoError(t, f.GetTypedConfig().UnmarshalTo(&limit))
	require.NoError(t, limit.ValidateAll())
	assert.Equal(t, c.GetName(), limit.GetRateLimitService().GetGrpcService().GetEnvoyGrpc().GetClusterName())

	data, err := os.ReadFile("testdata/guide/limits.yaml")
	require.NoError(t, err)
	ours, err := rules.Parse(data)
	require.NoError(t, err)
	assert.Equal(t, []string{"ratelimit"}, ours.Envoy.Files)
	assert.Equal(t, envoy.DefaultHeaders(), envoy.Headers(ours.Envoy.Headers))
}
