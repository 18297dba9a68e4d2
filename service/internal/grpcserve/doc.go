// Package grpcserve serves the services of package ratelimitpb, health and reflection through gRPC.
package grpcserve
