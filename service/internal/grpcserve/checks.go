package grpcserve

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/service/internal/decide"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// checks serves RateLimitService.
type checks struct {
	pb.UnimplementedRateLimitServiceServer

	server *Server
}

func (c *checks) decider() Decider { return c.server.config.Decider }

// CheckRateLimit implements pb.RateLimitServiceServer, as do the others.
func (c *checks) CheckRateLimit(ctx context.Context, r *pb.CheckRateLimitRequest) (*pb.CheckRateLimitResponse, error) {
	result, err := c.decider().Check(ctx, checkOf(r.GetCheck()))
	if err != nil {
		return nil, c.server.fail(ctx, err)
	}
	return &pb.CheckRateLimitResponse{Result: putResult(&result)}, nil
}

func (c *checks) CheckAll(ctx context.Context, r *pb.CheckAllRequest) (*pb.CheckAllResponse, error) {
	all, err := c.decider().CheckAll(ctx, checksOf(r.GetChecks()))
	if err != nil {
		return nil, c.server.fail(ctx, err)
	}
	return putAll(&all), nil
}

func (c *checks) BatchCheckRateLimit(ctx context.Context, r *pb.BatchCheckRateLimitRequest) (*pb.BatchCheckRateLimitResponse, error) {
	outcomes, err := c.decider().Batch(ctx, checksOf(r.GetChecks()))
	if err != nil {
		return nil, c.server.fail(ctx, err)
	}
	answer := &pb.BatchCheckRateLimitResponse{}
	for _, o := range outcomes {
		m := &pb.Outcome{}
		if o.Err != nil {
			m.Outcome = &pb.Outcome_Error{Error: c.server.problem(ctx, o.Err)}
		} else {
			m.Outcome = &pb.Outcome_Result{Result: putResult(&o.Result)}
		}
		answer.Outcomes = append(answer.Outcomes, m)
	}
	return answer, nil
}

// longestWait is the time that Acquire waits if the request does not say.
const longestWait = time.Minute

func (c *checks) Acquire(ctx context.Context, r *pb.AcquireRequest) (*pb.AcquireResponse, error) {
	wait := longestWait
	if d := r.GetMaxWait(); d != nil {
		if d.CheckValid() != nil || d.AsDuration() < 0 {
			return nil, c.server.fail(ctx, &fault.FieldError{Owner: owner, Field: "max_wait", Problem: "it is not a duration of 0 or more"})
		}
		wait = d.AsDuration()
	}
	all, err := c.decider().Acquire(ctx, checksOf(r.GetChecks()), wait)
	if err != nil {
		return nil, c.server.fail(ctx, err)
	}
	return &pb.AcquireResponse{Answer: putAll(&all)}, nil
}

func (c *checks) Settle(ctx context.Context, r *pb.SettleRequest) (*pb.SettleResponse, error) {
	if err := c.decider().Settle(ctx, r.GetPermit(), r.GetActual()); err != nil {
		return nil, c.server.fail(ctx, err)
	}
	return &pb.SettleResponse{}, nil
}

func (c *checks) Cancel(ctx context.Context, r *pb.CancelRequest) (*pb.CancelResponse, error) {
	if err := c.decider().Cancel(ctx, r.GetPermit()); err != nil {
		return nil, c.server.fail(ctx, err)
	}
	return &pb.CancelResponse{}, nil
}

func (c *checks) HealthCheck(ctx context.Context, _ *pb.HealthCheckRequest) (*pb.HealthCheckResponse, error) {
	h := c.decider().Health(ctx)
	m := &pb.HealthCheckResponse{Breaker: string(h.Breaker), StoreReachable: h.StoreReachable, Reason: reasonOf(h.Reason), Problem: h.Problem}
	if h.RetryAfter > 0 {
		m.RetryAfter = durationpb.New(h.RetryAfter)
	}
	switch h.Status {
	case "healthy":
		m.Status = pb.Status_STATUS_HEALTHY
	case "degraded":
		m.Status = pb.Status_STATUS_DEGRADED
	default:
		m.Status = pb.Status_STATUS_UNHEALTHY
	}
	return m, nil
}

func checksOf(list []*pb.Check) []decide.Check {
	checks := make([]decide.Check, len(list))
	for i, m := range list {
		checks[i] = checkOf(m)
	}
	return checks
}

func checkOf(m *pb.Check) decide.Check {
	return decide.Check{
		Scope: m.GetScope(), Identifier: m.GetIdentifier(), Resource: m.GetResource(), Tokens: m.GetTokens(),
		Metadata: m.GetMetadata(), DryRun: m.GetDryRun(),
	}
}

func putAll(a *decide.All) *pb.CheckAllResponse {
	m := &pb.CheckAllResponse{Allowed: a.Allowed, Permit: a.Permit, DegradedReason: reasonOf(a.Degraded)}
	m.RetryAfter, m.Exhausted = after(a.RetryAfter)
	for i := range a.Results {
		m.Results = append(m.Results, putResult(&a.Results[i]))
	}
	m.Blocking, m.Tightest = index(a.Blocking, len(a.Results)), index(a.Tightest, len(a.Results))
	return m
}

// index is i, if it is one of n.
func index(i, n int) *int32 {
	if i < 0 || i >= n {
		return nil
	}
	at := int32(i) //nolint:gosec // there are few
	return &at
}

func putResult(r *decide.Result) *pb.Result {
	m := &pb.Result{
		Scope: r.Scope, Identifier: r.Identifier, Resource: r.Resource, Rule: r.Rule, Allowed: r.Allowed,
		TokensRemaining: r.Remaining, TokensCapacity: r.Capacity, Permit: r.Permit, DegradedReason: reasonOf(r.Degraded),
	}
	m.RetryAfter, m.Exhausted = after(r.RetryAfter)
	if !r.ResetAt.IsZero() {
		m.ResetAt = timestamppb.New(r.ResetAt)
	}
	return m
}

// after is a wait, or that waiting does not help.
func after(d time.Duration) (wait *durationpb.Duration, never bool) {
	switch {
	case d == decide.Never:
		return nil, true
	case d > 0:
		return durationpb.New(d), false
	}
	return nil, false
}

func reasonOf(r decide.Reason) pb.DegradedReason {
	switch r {
	case decide.StorageUnavailable:
		return pb.DegradedReason_DEGRADED_REASON_STORAGE_UNAVAILABLE
	case decide.BreakerOpen:
		return pb.DegradedReason_DEGRADED_REASON_BREAKER_OPEN
	case decide.ClockSkew:
		return pb.DegradedReason_DEGRADED_REASON_CLOCK_SKEW
	case decide.ConfigError:
		return pb.DegradedReason_DEGRADED_REASON_CONFIG_ERROR
	default:
		return pb.DegradedReason_DEGRADED_REASON_UNSPECIFIED
	}
}
