package world_test

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/simulate/world"
)

func ExampleQueue() {
	var q world.Queue[string]
	q.At(time.Hour, "an hour later")
	q.At(time.Second, "soon")
	for e, ok := q.Next(time.Minute); ok; e, ok = q.Next(time.Minute) {
		fmt.Println(q.Now(), e)
	}
	fmt.Println(q.Len(), "not yet")
	// Output:
	// 1s soon
	// 1 not yet
}

func ExampleChance() {
	demand, again := world.NewChance(1, 0), world.NewChance(1, 0)
	fmt.Println(demand.LogNormal(2, 0.6) == again.LogNormal(2, 0.6))
	// Output: true
}
