package provider_test

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/simulate/provider"
)

func ExampleProvider() {
	p := provider.New(provider.Config{
		Requests:   provider.Bucket{PerMinute: 60, Burst: 1},
		RetryAfter: provider.WholeSeconds,
	}, nil)

	for _, at := range []time.Duration{0, 300 * time.Millisecond, time.Second} {
		answer, _ := p.Arrive(at, 0)
		fmt.Println(at, answer.Admitted, answer.RetryAfter)
	}
	// Output:
	// 0s true 0s
	// 300ms false 1s
	// 1s true 0s
}
