// Nesting: flows and batches are nodes, so they go into each other.
//
//	library                 a flow
//	  books                 a batch of flows, one for each book
//	    chapters            in each of them a batch of flows, one for each chapter
//	      paragraphs        in each of them a batch of calls
//
// Each level makes the items of the next one from its own state, and gets their
// results back; they share nothing else. The refusal of a call is waited out
// by the limiter of paragraphs, four levels down. Propagate tells the level
// above of it: the limiters of chapters and of books cut too, once each, since
// there is no point in starting books if their calls would only queue.
//
//	go run ./examples/nesting
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/examples/internal/chat"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/guard"
	"github.com/headrace/headrace/node"
	"github.com/headrace/headrace/providertest"
)

const text = `# Mills
## What drives them
Water does. It is free.
Wind does. It comes and goes.
## What they do
They grind grain. It becomes bread.
They saw wood. It becomes houses.
# Rivers
## Where they begin
Springs feed them. They never rest.
Brooks join in. They do after rain.
## Where they end
Most end in the sea. It is salt.
Some end in the desert. It is salt there too.`

// Library, Book and Chapter are the states of the three levels of flows.
type (
	Library struct {
		Text  string
		Books []Book
	}
	Book struct {
		Title, Text string
		Chapters    []Chapter
	}
	Chapter struct {
		Book, Title, Text string // what a chapter has to know of its book comes along
		Summary           []string
	}
)

// open cuts the library into books.
func open(_ context.Context, l *Library) error {
	for book := range strings.SplitSeq(strings.TrimPrefix(l.Text, "# "), "\n# ") {
		title, rest, _ := strings.Cut(book, "\n## ")
		l.Books = append(l.Books, Book{Title: title, Text: rest})
	}
	return nil
}

func books(l *Library) []Book { return l.Books }

func chapters(b *Book) (all []Chapter) {
	for chapter := range strings.SplitSeq(b.Text, "\n## ") {
		title, rest, _ := strings.Cut(chapter, "\n")
		all = append(all, Chapter{Book: b.Title, Title: title, Text: rest})
	}
	return all
}

func paragraphs(c *Chapter) []string { return strings.Split(c.Text, "\n") }

// library puts the levels together, from the inside out.
func library(client chat.Client) node.Node[*Library] {
	atMost := func(n int) adaptive.AIMD { return adaptive.AIMD{Initial: n, Max: n} }

	shorten := node.Each("paragraphs", paragraphs,
		func(ctx context.Context, p string) (string, error) { return client.Complete(ctx, p, p) },
		func(c *Chapter, short []string) { c.Summary = short }).
		WithParallel(2).With(guard.Policy{Law: atMost(8), Propagate: true})

	eachChapter := flow.Each("chapters", chapters, flow.New("chapter", shorten),
		func(b *Book, done []Chapter) { b.Chapters = done }).
		WithParallel(2).With(guard.Policy{Law: atMost(4), Propagate: true})

	eachBook := flow.Each("books", books, flow.New("book", eachChapter),
		func(l *Library, done []Book) { l.Books = done }).
		WithParallel(2).With(guard.Policy{Law: atMost(2)})

	return flow.New("library", node.Do("open", open)).Then(eachBook)
}

func run(ctx context.Context) error {
	var refused atomic.Bool
	provider, err := providertest.New(providertest.Config{Fault: func(r providertest.Request) *providertest.Fault {
		if strings.HasPrefix(r.Key, "Springs") && !refused.Swap(true) {
			return &providertest.Fault{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After-Ms": {"20"}}}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	defer provider.Close()

	l := &Library{Text: text}
	report, err := flow.Run(ctx, library(chat.New(provider)), l)
	if err != nil {
		return err
	}
	for _, b := range l.Books {
		for _, c := range b.Chapters {
			fmt.Printf("%s, %s: %s\n", c.Book, c.Title, strings.Join(c.Summary, " "))
		}
	}
	for _, level := range []string{"paragraphs", "chapters", "books"} {
		n := report.Nodes[level]
		fmt.Printf("%s: %d done, %d failed, %d cut\n", level, n.Done, n.Failed, report.Limiters[level].Cuts)
	}
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
