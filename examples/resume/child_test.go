package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/store/sqlitestore"
)

// childEnv has the test binary be the program: "never", or at which failpoint
// it hangs, "answer 17", "commit 17" or "line 17".
const childEnv = "HEADRACE_RESUME_CHILD"

// hanging is what a child says, with the texts concerned, before it hangs.
const hanging = "hanging:"

func beChild(at string) (status int) {
	err := func() error {
		if at == "never" {
			return run(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
		}
		s, err := parse(os.Args[1:], os.Stderr)
		if err != nil {
			return err
		}
		var where string
		var n int64
		if _, err := fmt.Sscan(at, &where, &n); err != nil {
			return err
		}
		j, err := sqlitestore.OpenJournal(s.journal)
		if err != nil {
			return err
		}
		w := newWork(s, &client{http: http.DefaultClient, base: s.url, key: os.Getenv("API_KEY"), model: s.model})
		if where == "answer" {
			w.ask = hangsAtAnswer(w.ask, n)
			return w.with(context.Background(), j)
		}
		return w.with(context.Background(), &hangsAtCommit{Journal: j, n: n, after: where == "line"})
	}()
	if err == nil {
		err = errors.New("the failpoint was not reached")
		if at == "never" {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func hang(ids ...string) {
	fmt.Println(hanging, strings.Join(ids, " "))
	select {}
}

// hangsAtAnswer never returns the n-th answer that has come, nor those after it.
func hangsAtAnswer(ask func(context.Context, Text) (string, error), n int64) func(context.Context, Text) (string, error) {
	var answers atomic.Int64
	return func(ctx context.Context, t Text) (string, error) {
		s, err := ask(ctx, t)
		if err != nil {
			return s, err
		}
		switch of := answers.Add(1); {
		case of == n:
			hang(t.ID)
		case of > n:
			select {}
		}
		return s, nil
	}
}

// hangsAtCommit never commits the n-th record, nor those together with it; or it does, and
// never returns, so that their lines are never written.
type hangsAtCommit struct {
	journal.Journal

	after      bool
	n, records int64 // one goroutine calls Finish
}

func (h *hangsAtCommit) Finish(
	ctx context.Context, p journal.Part, owner journal.Owner, mark string, records ...journal.Record,
) (refused []journal.Record, err error) {
	h.records += int64(len(records))
	here := h.records >= h.n
	if !here || h.after {
		refused, err = h.Journal.Finish(ctx, p, owner, mark, records...)
	}
	if here && err == nil {
		ids := make([]string, 0, len(records))
		for i := range records {
			ids = append(ids, records[i].Key.Content)
		}
		hang(ids...)
	}
	return refused, err
}
