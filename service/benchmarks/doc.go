// Package benchmarks measures checks through package service and its client beside redis_rate, on a redis-server of its
// own:
//
//	go test -bench . -count 8
package benchmarks
