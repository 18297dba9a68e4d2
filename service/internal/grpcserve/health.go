package grpcserve

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// health serves grpc.health.v1: a server that is degraded serves.
type health struct {
	healthpb.UnimplementedHealthServer

	server *Server
}

func (h *health) status(ctx context.Context, service string) (healthpb.HealthCheckResponse_ServingStatus, bool) {
	if _, ok := h.server.grpc.GetServiceInfo()[service]; !ok && service != "" {
		return healthpb.HealthCheckResponse_SERVICE_UNKNOWN, false
	}
	if h.server.stopping.Err() != nil || h.server.config.Decider.Health(ctx).Status == "unhealthy" {
		return healthpb.HealthCheckResponse_NOT_SERVING, true
	}
	return healthpb.HealthCheckResponse_SERVING, true
}

// Check implements healthpb.HealthServer.
func (h *health) Check(ctx context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	now, ok := h.status(ctx, r.GetService())
	if !ok {
		return nil, status.Error(codes.NotFound, "this service is not served")
	}
	return &healthpb.HealthCheckResponse{Status: now}, nil
}

// Watch implements healthpb.HealthServer. It looks once a second.
func (h *health) Watch(r *healthpb.HealthCheckRequest, to grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	ticker := time.NewTicker(healthRefresh)
	defer ticker.Stop()
	last := healthpb.HealthCheckResponse_UNKNOWN
	for {
		if now, _ := h.status(to.Context(), r.GetService()); now != last {
			if err := to.Send(&healthpb.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-ticker.C:
		case <-h.server.stopping.Done():
			return status.Error(codes.Unavailable, stopped)
		case <-to.Context().Done():
			return status.FromContextError(to.Context().Err()).Err()
		}
	}
}
