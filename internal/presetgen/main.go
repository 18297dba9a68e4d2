// Command presetgen writes what follows from the table of presets: their
// constants and docs/presets.md. It is run by go generate ./presets.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/headrace/headrace/presets"
)

func main() {
	ids := flag.String("ids", "ids_gen.go", "where the constants go")
	docs := flag.String("docs", "../docs/presets.md", "where the page goes")
	flag.Parse()
	if err := run(presets.Default(), *ids, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "presetgen:", err)
		os.Exit(1)
	}
}

func run(t *presets.Table, ids, docs string) error {
	code, err := constants(t)
	if err != nil {
		return err
	}
	if err := os.WriteFile(ids, code, 0o644); err != nil { //nolint:gosec // source code, for everybody to read
		return err
	}
	return os.WriteFile(docs, page(t), 0o644) //nolint:gosec // documentation, for everybody to read
}
