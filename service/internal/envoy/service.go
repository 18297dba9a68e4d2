package envoy

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/invalid"
	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/tracing"
)

const defaultTimeout = 5 * time.Second

// Settings is what can change while a Service serves.
type Settings struct {
	// Config is what Parse returns.
	Config *Config
	// ShadowMode answers OK whatever the limits say. They are counted as usual.
	ShadowMode bool
	// Headers are added to the responses of Envoy. The zero Headers add none.
	Headers Headers
}

// Validate joins all problems, each a *fault.FieldError.
func (s *Settings) Validate() error {
	p := invalid.Problems{Owner: "envoy"}
	if s.Config == nil {
		p.Addf("Config", "it is nil: pass the result of Parse")
	}
	for field, name := range map[string]string{"Limit": s.Headers.Limit, "Remaining": s.Headers.Remaining, "Reset": s.Headers.Reset} {
		if name != "" && !header.IsToken(name) {
			p.Addf("Headers."+field, "%q cannot be the name of a header", header.Shown(name))
		}
	}
	return p.Err()
}

// Options says how a Service answers.
type Options struct {
	// Store holds the counts. While it fails, its errors are answered with
	// Unavailable, and failure_mode_deny of Envoy decides: wrap it in a quota.Fallback
	// for another policy.
	Store quota.Store
	Settings
	// Timeout of all steps of the store for one request; 0 means 5 s.
	Timeout time.Duration
	// Observe is called for each descriptor to which a limit applies, after the answer
	// is made; nil if there is no observer. It must be safe for concurrent use, and
	// return soon.
	Observe func(Observation)
}

// Observation is what became of one descriptor.
type Observation struct {
	Rule     string // the path of the rule, not the values of the request, such as messaging.to_number
	Key      string // in the store; empty for an unlimited descriptor
	Hits     int64
	Over     bool // the limit does not admit it
	Shadow   bool // but the rule has shadow_mode
	Refund   bool // is_negative_hits
	Left     int64
	Limit    int64
	Degraded bool // answered without the store
}

// Stats counts requests since the service was made.
type Stats struct {
	Requests      int64
	OverLimit     int64 // of these
	Shadowed      int64 // would have been OverLimit without ShadowMode
	UnknownDomain int64
	Invalid       int64
	Degraded      int64 // were answered without the store
	Failed        int64 // had no answer: the store failed
	Lost          int64 // hits or refunds that the store did not take after the answer was decided
}

// Service implements envoy.service.ratelimit.v3. It is safe for concurrent use.
type Service struct {
	rls.UnimplementedRateLimitServiceServer

	options  Options
	settings atomic.Pointer[Settings]
	refunds  refunds

	requests, over, shadowed, unknown, invalid, degraded, failed, lost atomic.Int64
}

// New returns a service. Problems are joined, each a *fault.FieldError.
func New(o Options) (*Service, error) {
	p := invalid.Problems{Owner: "envoy"}
	if o.Store == nil || invalid.Nil(o.Store) {
		p.Addf("Store", "it is nil: give the store that holds the counts")
	}
	if o.Timeout < 0 {
		p.Addf("Timeout", "%s is negative: use 0 for %s", o.Timeout, defaultTimeout)
	}
	p.Add(o.Validate())
	if err := p.Err(); err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	s := &Service{options: o}
	s.settings.Store(&o.Settings)
	return s, nil
}

// Use has the settings apply from the next request on. If they are invalid, the present
// ones stay. Counts are kept: a limit that changes admits no burst.
func (s *Service) Use(next Settings) error {
	if err := next.Validate(); err != nil {
		return err
	}
	s.settings.Store(&next)
	return nil
}

// Register has a gRPC server answer with s.
func (s *Service) Register(server grpc.ServiceRegistrar) {
	rls.RegisterRateLimitServiceServer(server, s)
}

// Stats returns a snapshot.
func (s *Service) Stats() Stats {
	return Stats{
		Requests: s.requests.Load(), OverLimit: s.over.Load(), Shadowed: s.shadowed.Load(), UnknownDomain: s.unknown.Load(),
		Invalid: s.invalid.Load(), Degraded: s.degraded.Load(), Failed: s.failed.Load(), Lost: s.lost.Load(),
	}
}

// ShouldRateLimit implements the protocol.
func (s *Service) ShouldRateLimit(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	s.requests.Add(1)
	if err := check(r); err != nil {
		s.invalid.Add(1)
		return nil, status.Error(codes.InvalidArgument, clipped(err.Error()))
	}
	set := s.settings.Load()
	if set.Config.domains[r.GetDomain()] == nil {
		s.unknown.Add(1)
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	d := s.newDecision(set.Config.asks(r))
	if err := d.decide(ctx, s.options.Timeout); err != nil {
		return nil, s.failure(ctx, err)
	}
	a := s.answer(d, set)
	note(ctx, a, d.degraded)
	return a, nil
}

// note adds what became of a request to its span.
func note(ctx context.Context, a *rls.RateLimitResponse, degraded bool) {
	outcome, reason := "allowed", ""
	if a.GetOverallCode() == rls.RateLimitResponse_OVER_LIMIT {
		outcome = "refused"
	}
	if degraded {
		reason = "storage_unavailable"
	}
	tracing.Note(ctx, outcome, "", reason)
}

// clipped keeps a text within the headers of a response.
func clipped(text string) string {
	const most = 2048
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// failure is an error for Envoy. It leaves out the error of the store, which may name
// hosts.
func (s *Service) failure(ctx context.Context, err error) error {
	s.failed.Add(1)
	if _, ok := errors.AsType[*fault.FieldError](err); ok {
		return status.Error(codes.Internal, "envoy: the store cannot count the request: see the log of the service")
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unavailable, "envoy: the store is unavailable: failure_mode_deny decides")
}

// answer writes what was decided.
func (s *Service) answer(d *decision, set *Settings) *rls.RateLimitResponse {
	r := &rls.RateLimitResponse{OverallCode: rls.RateLimitResponse_OK, Statuses: make([]*rls.RateLimitResponse_DescriptorStatus, len(d.asks))}
	for i := range d.asks {
		r.Statuses[i] = d.status(i)
		if r.Statuses[i].GetCode() == rls.RateLimitResponse_OVER_LIMIT {
			r.OverallCode = rls.RateLimitResponse_OVER_LIMIT
		}
	}
	r.ResponseHeadersToAdd = set.Headers.of(r.GetStatuses())
	if r.GetOverallCode() == rls.RateLimitResponse_OVER_LIMIT {
		if set.ShadowMode {
			s.shadowed.Add(1)
			r.OverallCode = rls.RateLimitResponse_OK
		} else {
			s.over.Add(1)
		}
	}
	s.lost.Add(d.lost)
	if d.degraded {
		s.degraded.Add(1)
	}
	if s.options.Observe != nil {
		for i := range d.asks {
			if d.asks[i].limit != nil {
				s.options.Observe(d.observation(i))
			}
		}
	}
	return r
}

// Headers are names of headers. Those that are empty are not added.
type Headers struct {
	Limit     string // requests_per_unit of the limit that is closest to be reached
	Remaining string // what is left of it
	Reset     string // seconds until it is reset, rounded up
}

// DefaultHeaders returns the names that envoyproxy/ratelimit uses.
func DefaultHeaders() Headers {
	return Headers{Limit: "RateLimit-Limit", Remaining: "RateLimit-Remaining", Reset: "RateLimit-Reset"}
}
