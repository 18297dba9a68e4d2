package servicestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/headrace/headrace/quota"
	"github.com/headrace/headrace/service/internal/wire"
	pb "github.com/headrace/headrace/service/ratelimitpb"
	"github.com/headrace/headrace/throttle"
)

// Look implements quota.Inspector.
func (s *Store) Look(ctx context.Context, key string) (state quota.State, err error) {
	if err := checkKey("Key", key); err != nil {
		return quota.State{}, err
	}
	var m *pb.LookResponse
	err = s.call(ctx, func(ctx context.Context) (err error) {
		m, err = s.stub.Look(ctx, &pb.LookRequest{Key: key})
		return err
	})
	if err != nil {
		return quota.State{}, err
	}
	windows, err := wire.Windows(m.GetWindows())
	if err != nil {
		return quota.State{}, fmt.Errorf("servicestore: %w", err)
	}
	uses, err := wire.Uses(m.GetUses(), windows)
	if err != nil {
		return quota.State{}, fmt.Errorf("servicestore: %w", err)
	}
	return quota.State{
		Limits: throttle.Limits{Concurrency: int(m.GetConcurrency()), Windows: windows}, Uses: uses,
		InFlight: int(m.GetInFlight()), Cooldown: time.Duration(m.GetCooldownNanos()),
	}, nil
}

// Keys implements quota.Inspector.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if ctx.Err() != nil {
			yield("", context.Cause(ctx))
			return
		}
		if err := checkKey("prefix", prefix); err != nil {
			yield("", err)
			return
		}
		// The receiver's own work counts towards no timeout: only ctx and Close end it.
		listing, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)() //nolint:contextcheck // Close ends it too
		stream, err := s.stub.Keys(listing, &pb.KeysRequest{Prefix: prefix})
		for err == nil {
			var m *pb.KeysResponse
			late := time.AfterFunc(s.timeout, cancel)
			m, err = stream.Recv()
			if !late.Stop() && err != nil && ctx.Err() == nil && s.life.Err() == nil {
				yield("", &UnavailableError{Problem: slow})
				return
			}
			for _, key := range m.GetKeys() {
				if !yield(key, nil) {
					return
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
		case ctx.Err() != nil:
			yield("", context.Cause(ctx))
		default:
			yield("", s.fault(err))
		}
	}
}

// Forget implements quota.Inspector.
func (s *Store) Forget(ctx context.Context, key string) error {
	if err := checkKey("Key", key); err != nil {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error {
		_, err := s.stub.Forget(ctx, &pb.ForgetRequest{Key: key})
		return err
	})
}
