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
	facts := flag.String("facts", "facts.json", "the table, whose constants names providers")
	docs := flag.String("docs", "../docs/presets.md", "where the page goes")
	flag.Parse()
	if err := run(presets.Default(), *facts, *ids, *docs); err != nil {
		fmt.Fprintln(os.Stderr, "presetgen:", err)
		os.Exit(1)
	}
}

func run(t *presets.Table, facts, ids, docs string) error {
	data, err := os.ReadFile(facts) //nolint:gosec // the file that is named on the command line
	if err != nil {
		return err
	}
	providers, err := withConstants(data)
	if err != nil {
		return err
	}
	code, err := constants(t, providers)
	if err != nil {
		return err
	}
	if err := os.WriteFile(ids, code, 0o644); err != nil { //nolint:gosec // source code, readable by all users
		return err
	}
	return os.WriteFile(docs, page(t), 0o644) //nolint:gosec // documentation, readable by all users
}
