package replay

import (
	"io"
	"time"
)

// Keep and KeepUntil are for bodies that come at once.
func Keep(body io.ReadCloser, length int64) *Answer {
	return new(Keeper).Keep(nil, body, length, time.Hour, nil)
}

func KeepUntil(body io.ReadCloser, done func(fresh []byte) bool) *Answer {
	return new(Keeper).Keep(nil, body, -1, time.Hour, done)
}

func KeepFor(body io.ReadCloser, length int64, d time.Duration) *Answer {
	return new(Keeper).KeepFor(body, length, d)
}

func KeepWithin(body io.ReadCloser, length int64, d time.Duration) *Answer {
	return new(Keeper).Keep(nil, body, length, d, nil)
}
