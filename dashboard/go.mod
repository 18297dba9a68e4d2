module github.com/headrace/headrace/dashboard

go 1.26.0

require (
	github.com/headrace/headrace v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)
