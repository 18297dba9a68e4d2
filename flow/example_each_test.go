package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// A flow for every city, three at a time. Each run has a copy of its own.
func ExampleEach() {
	type city struct{ Name, Sign string }
	type atlas struct{ Cities []city }

	upper := node.Do("upper", func(_ context.Context, c *city) error {
		c.Sign = strings.ToUpper(c.Name)
		return nil
	})
	mark := node.Do("mark", func(_ context.Context, c *city) error {
		c.Sign += "!"
		return nil
	})
	cities := flow.Each("cities",
		func(a *atlas) []city { return a.Cities },
		flow.New("city", upper).Then(mark),
		func(a *atlas, done []city) { a.Cities = done }).WithParallel(3)

	a := &atlas{Cities: []city{{Name: "Oslo"}, {Name: "Lima"}}}
	_, err := flow.Run(context.Background(), cities, a)
	fmt.Println(a.Cities, err)
	// Output: [{Oslo OSLO!} {Lima LIMA!}] <nil>
}
