module github.com/headrace/headrace/benchmarks

go 1.26.0

require (
	github.com/headrace/headrace v0.0.0
	golang.org/x/sync v0.24.0
	golang.org/x/time v0.16.0
)

require (
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
)
