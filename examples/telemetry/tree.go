package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// printTree writes a line for each span, below that of its parent, and for
// what happened under it.
func printTree(out io.Writer, spans tracetest.SpanStubs) {
	children := map[trace.SpanID][]*tracetest.SpanStub{}
	for i := range spans {
		parent := spans[i].Parent.SpanID()
		children[parent] = append(children[parent], &spans[i])
	}
	var show func(of trace.SpanID, depth int)
	show = func(of trace.SpanID, depth int) {
		slices.SortFunc(children[of], func(a, b *tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
		for _, s := range children[of] {
			indent := strings.Repeat("  ", depth)
			fmt.Fprintf(out, "%s%s%s\n", indent, s.Name, shown(s))
			for _, e := range s.Events {
				fmt.Fprintf(out, "%s  ! %s\n", indent, e.Name)
			}
			show(s.SpanContext.SpanID(), depth+1)
		}
	}
	show(trace.SpanID{}, 0)
	fmt.Fprintln(out)
}

// shown picks the attributes that tell one span from the next.
func shown(s *tracetest.SpanStub) (text string) {
	for _, a := range s.Attributes {
		switch a.Key {
		case "headrace.item.index", "headrace.item.outcome", "http.response.status_code", "gen_ai.response.model", "error.type":
			text += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
	}
	return text
}
