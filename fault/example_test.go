package fault_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/throttle"
)

// Constructors report which setting cannot be used.
func ExampleFieldError() {
	_, err := throttle.New(throttle.Limits{Concurrency: -1})
	field, ok := errors.AsType[*fault.FieldError](err)
	fmt.Println(ok, field.Owner, field.Field)
	// Output: true throttle Concurrency
}

// A panic fails the item that it happened in, and keeps its stack.
func ExamplePanicError() {
	_, err := node.Map("index", func(_ context.Context, i int) (int, error) { return []int{1, 2}[i], nil }).
		All(context.Background(), []int{0, 5})
	panicked, ok := errors.AsType[*fault.PanicError](err)
	fmt.Println(ok, panicked.Value, len(panicked.Stack) > 0)
	// Output: true runtime error: index out of range [5] with length 2 true
}

// Code that ignores its context is abandoned one second after its timeout, so
// that the other items go on.
func ExampleHungError() {
	release := make(chan struct{})
	defer close(release)
	out, err := node.Map("call", func(_ context.Context, i int) (int, error) {
		if i == 1 {
			<-release // instead of ctx.Done()
		}
		return 10 * i, nil
	}).WithTimeout(10*time.Millisecond).All(context.Background(), []int{1, 2, 3})
	hung, ok := errors.AsType[*fault.HungError](err)
	fmt.Println(out, ok, hung.After, errors.Is(hung, context.DeadlineExceeded))
	// Output: [0 20 30] true 1s true
}
