package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// Two nodes work on one draft. Each writes to its own field.
func ExampleParallel() {
	type review struct {
		Draft string
		Words int
		Loud  bool
	}
	count := node.Do("count", func(_ context.Context, r *review) error {
		r.Words = len(strings.Fields(r.Draft))
		return nil
	})
	listen := node.Do("listen", func(_ context.Context, r *review) error {
		if r.Draft == "" {
			return errors.New("no draft")
		}
		r.Loud = strings.HasSuffix(r.Draft, "!")
		return nil
	})
	checks := flow.Parallel("checks", count, listen)

	r := &review{Draft: "Open the gate!"}
	_, err := flow.Run(context.Background(), checks, r)
	fmt.Println(r.Words, r.Loud, err)
	_, err = flow.Run(context.Background(), checks, &review{})
	fmt.Println(err)
	// Output:
	// 3 true <nil>
	// flow "checks": node "listen": no draft
}
