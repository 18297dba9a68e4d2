module github.com/headrace/headrace/service

go 1.26.0

require (
	github.com/headrace/headrace v0.0.0
	github.com/headrace/headrace/internal/yamldoc v0.0.0
	github.com/jonboulle/clockwork v0.5.0
)

require (
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
