package grpcserve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/panics"
	"github.com/headrace/headrace/service/internal/decide"
	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
)

// problem is the message of err.
func (s *Server) problem(ctx context.Context, err error) *pb.Error {
	// Its cause may be what PutError looks for.
	if e, ok := errors.AsType[*decide.UnavailableError](err); ok {
		return &pb.Error{Code: pb.Code_CODE_UNAVAILABLE, Message: e.Error(), RetryAfter: durationpb.New(e.RetryAfter)}
	}
	if m := wire.PutError(err, keyPrefix); m != nil {
		return m
	}
	if e, ok := errors.AsType[*decide.PermitError](err); ok {
		return &pb.Error{Code: pb.Code_CODE_PERMIT, Message: e.Error()}
	}
	if e, ok := errors.AsType[*fault.PanicError](err); ok {
		panics.Log(ctx, s.config.Log, "a call panicked", e)
		return &pb.Error{Code: pb.Code_CODE_INTERNAL, Message: "an internal error: see the log of the server"}
	}
	if ctx.Err() != nil {
		return &pb.Error{Code: pb.Code_CODE_CANCELLED, Message: context.Cause(ctx).Error()}
	}
	s.warn(ctx, err)
	return &pb.Error{Code: pb.Code_CODE_UNAVAILABLE, Message: "the store is unavailable"}
}

// warnEvery is how often the log says that the store is unavailable: there may be thousands of calls a second.
const warnEvery = time.Second

// warn logs an error of the store, which callers do not receive: its text may name hosts.
func (s *Server) warn(ctx context.Context, err error) {
	now, last := time.Since(s.began), s.warned.Load()
	if last != 0 && now-time.Duration(last) < warnEvery || !s.warned.CompareAndSwap(last, int64(now)) {
		return
	}
	s.config.Log.LogAttrs(ctx, slog.LevelWarn, "the store is unavailable", slog.Any("error", err))
}

// fail is the status of err.
func (s *Server) fail(ctx context.Context, err error) error {
	m := s.problem(ctx, err)
	st := status.New(codeOf(ctx, m.GetCode()), m.GetMessage())
	if with, err := st.WithDetails(m); err == nil {
		st = with
	}
	return st.Err()
}

func codeOf(ctx context.Context, c pb.Code) codes.Code {
	switch c {
	case pb.Code_CODE_INVALID, pb.Code_CODE_COST:
		return codes.InvalidArgument
	case pb.Code_CODE_PERMIT:
		return codes.NotFound
	case pb.Code_CODE_UNAVAILABLE:
		return codes.Unavailable
	case pb.Code_CODE_CANCELLED:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return codes.DeadlineExceeded
		}
		return codes.Canceled
	default:
		return codes.Internal
	}
}
