// Command server runs a Temporal server on loopback, in memory, for tests and examples. It prints the
// address and the namespace, and ends with its standard input.
//
// It is a separate module outside of go.work, because the server has some 500 dependencies, and headrace must not
// depend on their versions.
package main

import (
	"fmt"
	"io"
	"os"

	"go.temporal.io/server/temporaltest"
)

func main() {
	s := temporaltest.NewServer()
	defer s.Stop()
	fmt.Println(s.GetFrontendHostPort(), s.GetDefaultNamespace()) //nolint:forbidigo // it is what the parent reads
	_, _ = io.Copy(io.Discard, os.Stdin)
}
