// Package ratelimitpb is the gRPC protocol headrace.ratelimit.v1: generated clients and
// servers of its two services. RateLimitService checks calls against limits that a
// server of package service is configured with. StoreService is for package
// service/servicestore, which is the easier way to share limits that a program states itself.
//
// The .proto files are in service/proto. make generate writes this package.
package ratelimitpb
