// Command schemagen writes the JSON Schema of the configuration.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/headrace/headrace/config/internal/schema"
)

func main() {
	to := flag.String("o", "schema.json", "the file to write")
	flag.Parse()
	text, err := schema.Generate()
	if err == nil {
		err = os.WriteFile(*to, text, 0o600)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}
