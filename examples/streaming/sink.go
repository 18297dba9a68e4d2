package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// Page is what one instance of the flow works on.
type Page struct {
	Number int
	Text   string `json:",omitzero"`
	Words  int
}

// crawl takes so many pages through a flow of three steps, into a file.
func crawl(ctx context.Context, pages int, path string) (heap uint64, err error) {
	fetch := node.Do("fetch", func(_ context.Context, p *Page) error {
		p.Text = strings.Repeat("water ", p.Number%7)
		return nil
	})
	count := node.Do("count", func(_ context.Context, p *Page) error {
		p.Words = len(strings.Fields(p.Text))
		return nil
	})
	trim := node.Do("trim", func(_ context.Context, p *Page) error {
		p.Text = ""
		return nil
	})
	list := func(context.Context, *int) (iter.Seq2[Page, error], error) {
		return func(yield func(Page, error) bool) {
			for i := range pages {
				if !yield(Page{Number: i}, nil) {
					return
				}
			}
			heap = inUse() // while the last are on their way
		}, nil
	}
	sink := node.NewJSONLFile[Page, Page](path)
	defer func() { err = errors.Join(err, sink.Close()) }()
	batch := flow.Batch("pages", list, flow.New("page", fetch).Then(count).Then(trim),
		func(_ context.Context, done *int, r *node.Report[Page, Page]) (node.Action, error) {
			*done = int(r.Counts().Done) // r.Values() is empty: they are in the sink
			return node.Next, r.Err()
		}).WithParallel(8).WithSink(sink)
	done := 0
	_, err = flow.Run(ctx, batch, &done)
	fmt.Println(done, "pages through three steps")
	return heap, err
}

// inUse is the memory that the program holds, in bytes.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// sinks crawls a few pages, then many.
func sinks(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "streaming")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	few, err := crawl(ctx, 1000, filepath.Join(folder, "few.jsonl"))
	if err != nil {
		return err
	}
	many, err := crawl(ctx, 50_000, filepath.Join(folder, "many.jsonl"))
	if err != nil {
		return err
	}
	lines, err := fs.ReadFile(os.DirFS(folder), "many.jsonl")
	fmt.Println(bytes.Count(lines, []byte("\n")), "lines in the file")
	fmt.Println("fifty times the pages take less than 1 MiB more:", many < few+1<<20)
	return err
}
