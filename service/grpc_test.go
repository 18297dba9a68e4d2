package service_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/service/servicestore"
	"github.com/headrace/headrace/throttle"
)

const someLimits = `
rate_limits:
  - {name: search, scope: user, resource: api.search, capacity: 3, refill_rate: 0.001}
  - {name: tenant, scope: tenant, resource: api.search, capacity: 10, refill_rate: 0.001}
  - {name: trial, scope: user, resource: trial, capacity: 1, refill_rate: 0}
`

// serveText serves a configuration, and returns its address without a scheme.
func serveText(t *testing.T, text string) (address string, stop func()) {
	t.Helper()
	s := start(t, service.Config{Text: []byte(text)})
	return strings.TrimPrefix(s.url, "http://"), s.stop
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

func TestChecksByGRPC(t *testing.T) {
	address, _ := serveText(t, someLimits)
	c := pb.NewRateLimitServiceClient(dial(t, address))
	check := &pb.Check{Identifier: "ann", Resource: "api.search", Tokens: 2}

	first, err := c.CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{Check: check})
	require.NoError(t, err)
	r := first.GetResult()
	assert.True(t, r.GetAllowed())
	assert.Equal(t, "user", r.GetScope(), "the default")
	assert.Equal(t, "search", r.GetRule())
	assert.EqualValues(t, 1, r.GetTokensRemaining())
	assert.EqualValues(t, 3, r.GetTokensCapacity())
	assert.NotEmpty(t, r.GetPermit())
	assert.Nil(t, r.GetRetryAfter())
	assert.WithinDuration(t, time.Now().Add(2000*time.Second), r.GetResetAt().AsTime(), time.Minute)

	second, err := c.CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{Check: check})
	require.NoError(t, err, "a refusal is an answer")
	assert.False(t, second.GetResult().GetAllowed())
	assert.InDelta(t, 1000, second.GetResult().GetRetryAfter().AsDuration().Seconds(), 60)
	assert.Empty(t, second.GetResult().GetPermit())

	_, err = c.Settle(t.Context(), &pb.SettleRequest{Permit: r.GetPermit(), Actual: []int64{1}})
	require.NoError(t, err)
	_, err = c.Settle(t.Context(), &pb.SettleRequest{Permit: r.GetPermit(), Actual: []int64{1}})
	assert.Equal(t, codes.NotFound, grpcstatus.Code(err))
	assert.Equal(t, pb.Code_CODE_PERMIT, detail(t, err).GetCode())
	third, err := c.CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{Check: check})
	require.NoError(t, err)
	assert.True(t, third.GetResult().GetAllowed(), "it was given back")
	_, err = c.Cancel(t.Context(), &pb.CancelRequest{Permit: third.GetResult().GetPermit()})
	require.NoError(t, err)

	both := []*pb.Check{check, {Scope: "tenant", Identifier: "acme", Resource: "api.search", Tokens: 9}}
	all, err := c.CheckAll(t.Context(), &pb.CheckAllRequest{Checks: both})
	require.NoError(t, err)
	assert.True(t, all.GetAllowed())
	assert.Nil(t, all.Blocking)
	require.NotNil(t, all.Tightest)
	assert.EqualValues(t, 0, all.GetTightest(), "nothing of 3 is left there")
	all, err = c.CheckAll(t.Context(), &pb.CheckAllRequest{Checks: both})
	require.NoError(t, err)
	assert.False(t, all.GetAllowed())
	require.NotNil(t, all.Blocking)
	assert.EqualValues(t, 1, all.GetBlocking(), "it waits for 8 tokens, the other one for 2")
	assert.Positive(t, all.GetRetryAfter().AsDuration())

	waited, err := c.Acquire(t.Context(), &pb.AcquireRequest{Checks: both[:1]})
	if grpcstatus.Code(err) != codes.OK { // whichever way it says that the wait is too long
		assert.Contains(t, []codes.Code{codes.DeadlineExceeded, codes.ResourceExhausted}, grpcstatus.Code(err))
	} else {
		assert.False(t, waited.GetAnswer().GetAllowed())
	}

	batch, err := c.BatchCheckRateLimit(t.Context(), &pb.BatchCheckRateLimitRequest{Checks: []*pb.Check{
		{Identifier: "bob", Resource: "trial"}, {Identifier: "bob", Resource: "trial"}, {Identifier: "bob", Resource: "trial", Tokens: -1},
	}})
	require.NoError(t, err)
	require.Len(t, batch.GetOutcomes(), 3)
	allowed := 0
	for _, o := range batch.GetOutcomes()[:2] {
		if o.GetResult().GetAllowed() {
			allowed++
		} else {
			assert.True(t, o.GetResult().GetExhausted(), "a one-shot quota does not refill")
		}
	}
	assert.Equal(t, 1, allowed)
	assert.Equal(t, pb.Code_CODE_INVALID, batch.GetOutcomes()[2].GetError().GetCode())
	require.Len(t, batch.GetOutcomes()[2].GetError().GetFields(), 1)
	assert.Contains(t, batch.GetOutcomes()[2].GetError().GetFields()[0].GetField(), "tokens")

	_, err = c.CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{})
	assert.Equal(t, codes.InvalidArgument, grpcstatus.Code(err))
	assert.NotEmpty(t, detail(t, err).GetFields())

	require.Eventually(t, func() bool { // the first probe of the store may still be out
		health, err := c.HealthCheck(t.Context(), &pb.HealthCheckRequest{})
		require.NoError(t, err)
		assert.Equal(t, pb.Status_STATUS_HEALTHY, health.GetStatus())
		assert.Equal(t, "closed", health.GetBreaker())
		return health.GetStoreReachable()
	}, patience, 10*time.Millisecond)
}

// detail is the message that an error carries.
func detail(t *testing.T, err error) *pb.Error {
	t.Helper()
	for _, d := range grpcstatus.Convert(err).Details() {
		if m, ok := d.(*pb.Error); ok {
			return m
		}
	}
	t.Fatalf("%v has no detail", err)
	return nil
}

// Both are on one port, and share the limits.
func TestRESTAndGRPC(t *testing.T) {
	address, _ := serveText(t, someLimits)
	c := pb.NewRateLimitServiceClient(dial(t, address))
	answer, err := c.CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{Check: &pb.Check{Identifier: "ann", Resource: "api.search", Tokens: 3}})
	require.NoError(t, err)
	require.True(t, answer.GetResult().GetAllowed())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/ratelimit/check",
		strings.NewReader(`{"identifier":"ann","resource":"api.search"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusTooManyRequests, response.StatusCode)
}

func TestHealthAndReflection(t *testing.T) {
	address, stop := serveText(t, someLimits)
	conn := dial(t, address)
	h := healthpb.NewHealthClient(conn)
	for _, name := range []string{"", "headrace.ratelimit.v1.RateLimitService", "headrace.ratelimit.v1.StoreService"} {
		answer, err := h.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
		require.NoError(t, err)
		assert.Equal(t, healthpb.HealthCheckResponse_SERVING, answer.GetStatus())
	}
	_, err := h.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "no such"})
	assert.Equal(t, codes.NotFound, grpcstatus.Code(err))

	watch, err := h.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	first, err := watch.Recv()
	require.NoError(t, err)
	assert.Equal(t, healthpb.HealthCheckResponse_SERVING, first.GetStatus())

	r, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	list, err := r.Recv()
	require.NoError(t, err)
	var names []string
	for _, s := range list.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	assert.Contains(t, names, "headrace.ratelimit.v1.StoreService")
	require.NoError(t, r.CloseSend())
	_, err = r.Recv()
	require.Error(t, err)

	began := time.Now()
	stop()
	assert.Less(t, time.Since(began), 9*time.Second, "a stream does not hold up the end")
	_, err = watch.Recv()
	assert.Equal(t, codes.Unavailable, grpcstatus.Code(err))
}

func TestTokensOfGRPC(t *testing.T) {
	hash := sha256.Sum256([]byte("s3cret-s3cret-s3cret-s3cret-s3cret"))
	address, _ := serveText(t, someLimits+"runtime: {auth: {token_hashes: ["+hex.EncodeToString(hash[:])+"]}}\n")
	conn := dial(t, address)
	c := pb.NewRateLimitServiceClient(conn)
	for name, values := range map[string][]string{
		"none":   nil,
		"wrong":  {"Bearer wrong-wrong-wrong-wrong-wrong-wrong"},
		"scheme": {"Basic s3cret-s3cret-s3cret-s3cret-s3cret"},
		"two":    {"Bearer s3cret-s3cret-s3cret-s3cret-s3cret", "Bearer s3cret-s3cret-s3cret-s3cret-s3cret"},
	} {
		ctx := t.Context()
		for _, v := range values {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", v)
		}
		_, err := c.CheckRateLimit(ctx, &pb.CheckRateLimitRequest{Check: &pb.Check{Identifier: "ann", Resource: "api.search"}})
		assert.Equal(t, codes.Unauthenticated, grpcstatus.Code(err), name)
		keys, err := pb.NewStoreServiceClient(conn).Keys(ctx, &pb.KeysRequest{})
		require.NoError(t, err)
		_, err = keys.Recv()
		assert.Equal(t, codes.Unauthenticated, grpcstatus.Code(err), name)
	}
	_, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err, "probes have no token")

	take := quota.Request{Demands: []quota.Demand{{Key: "a", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}}}}
	for token, ok := range map[string]bool{"s3cret-s3cret-s3cret-s3cret-s3cret": true, "wrong": false, "": false} {
		s, err := servicestore.Open("http://"+address, servicestore.WithToken(token))
		require.NoError(t, err)
		_, err = s.Take(t.Context(), take)
		if ok {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "WithToken")
			assert.NotContains(t, err.Error(), "s3cret")
		}
		require.NoError(t, s.Close())
	}
}

// Clients of StoreService cannot reach the limits of the configuration.
func TestKeysAreApart(t *testing.T) {
	address, _ := serveText(t, someLimits)
	conn := dial(t, address)
	check := func() *pb.Result {
		answer, err := pb.NewRateLimitServiceClient(conn).CheckRateLimit(t.Context(), &pb.CheckRateLimitRequest{Check: &pb.Check{Identifier: "ann", Resource: "api.search"}})
		require.NoError(t, err)
		return answer.GetResult()
	}
	check()
	s, err := servicestore.Open("http://" + address)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for key, err := range s.Keys(t.Context(), "") {
		t.Error("a key of the configuration is listed:", key, err)
	}
	own := []quota.Demand{{Key: "own", Limits: throttle.Limits{Windows: []throttle.Window{throttle.Sliding(1, time.Hour)}}}}
	_, err = s.Take(t.Context(), quota.Request{Demands: own})
	require.NoError(t, err)
	var keys []string
	for key, err := range s.Keys(t.Context(), "o") {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	assert.Equal(t, []string{"own"}, keys)
	assert.EqualValues(t, 1, check().GetTokensRemaining())
}
