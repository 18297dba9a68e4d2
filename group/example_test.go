//go:build unix

package group_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/throttle"
)

func ExampleJoin() {
	dir, err := os.MkdirTemp("", "") // in a program: a directory that all processes know
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx := context.Background()
	g, err := group.Join(ctx, "unix:"+filepath.Join(dir, "acme.sock"))
	if err != nil {
		panic(err)
	}
	defer g.Close()
	acme, err := g.Guard(guard.Policy{Name: "acme"})
	if err != nil {
		panic(err)
	}
	err = acme.Do(ctx, throttle.Cost{}, func(context.Context) error {
		fmt.Println("called")
		return nil
	})
	fmt.Println(err, g.Stats().Role)
	// Output:
	// called
	// <nil> leading
}
