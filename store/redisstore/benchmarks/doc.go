// Package benchmarks measures package redisstore beside redis_rate, on a redis-server of its own:
//
//	go test -bench . -count 8
package benchmarks
