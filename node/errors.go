package node

import "errors"

var (
	errGoexit    = errors.New("node: the goroutine was ended by runtime.Goexit")
	errAbandoned = errors.New("node: the attempt was abandoned")
)
