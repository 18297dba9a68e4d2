package htmlreport_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/console/htmlreport"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// WithSeries has the report keep what happened over time; without it the page has tables alone.
func ExampleWrite() {
	ask := node.Do("ask", func(context.Context, node.None) error { return nil })
	report, err := flow.Run(context.Background(), ask, node.None{}, flow.WithSeries())
	if err != nil {
		fmt.Println(err)
		return
	}
	var page bytes.Buffer // your program opens a file
	err = htmlreport.Write(&page, "nightly digest", report)
	fmt.Println(err, strings.Contains(page.String(), "<h1>nightly digest</h1>"))
	// Output: <nil> true
}
