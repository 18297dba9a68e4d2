// Batch of flows: one flow for every user, many at the same time.
//
// flow.Batch runs a flow for every item. Each instance has a User of its own:
// what its nodes leave there is the item's result, and a retry would begin
// with a fresh copy. The node inside has a limiter for the API; Propagate has
// its refusals also slow down the batch, whose AIMD law counts instances: there
// is no point in starting users whose calls would only queue.
//
//	go run ./examples/batchofflows
package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/adaptive"
	"github.com/headrace/headrace/flow"
	"github.com/headrace/headrace/node"
)

// State is what the outer flow works on.
type State struct {
	IDs   []int
	Users []User
}

// User is what one instance works on.
type User struct {
	ID    int
	Posts []string
	Score int
}

// fetch stands for a call of an API, which refuses the third one.
func fetch() func(context.Context, string) (string, error) {
	var calls atomic.Int64
	return func(_ context.Context, post string) (string, error) {
		if calls.Add(1) == 3 {
			return "", &adaptive.RateLimitHit{RetryAfter: 50 * time.Millisecond}
		}
		return post + " text", nil
	}
}

// names lists the posts of one user.
func names(_ context.Context, u *User) (iter.Seq2[string, error], error) {
	return func(yield func(string, error) bool) {
		for i := range u.ID {
			if !yield(fmt.Sprintf("user %d post %d", u.ID, i), nil) {
				return
			}
		}
	}, nil
}

func main() {
	posts := node.BatchFunc("posts", names, fetch(),
		func(_ context.Context, u *User, r *node.Report[string, string]) (node.Action, error) {
			u.Posts = r.Values()
			return node.Next, r.Err()
		}).WithParallel(4).WithLaw(adaptive.AIMD{Initial: 8, Max: 16}).Propagate()
	score := node.Do("score", func(_ context.Context, u *User) error {
		u.Score = 10 * len(u.Posts)
		return nil
	})

	users := flow.Batch("users",
		func(_ context.Context, s *State) (iter.Seq2[User, error], error) {
			return func(yield func(User, error) bool) {
				for _, id := range s.IDs {
					if !yield(User{ID: id}, nil) {
						return
					}
				}
			}, nil
		},
		flow.New("user", posts).Then(score),
		func(_ context.Context, s *State, r *node.Report[User, User]) (node.Action, error) {
			s.Users = r.Values()
			return node.Next, r.Err()
		}).WithParallel(10).WithLaw(adaptive.AIMD{Initial: 8, Max: 10})

	s := &State{IDs: []int{1, 2, 3, 4}}
	report, err := flow.Run(context.Background(), users, s)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, u := range s.Users {
		fmt.Println("user", u.ID, "score", u.Score, u.Posts[u.ID-1])
	}
	fmt.Println("API:", report.Limiters["posts"].Hits, "refusal,", report.Limiters["posts"].Cuts, "cut")
	fmt.Println("users:", report.Limiters["users"].Cuts, "cut,", report.Nodes["users"].Done, "done,", report.Nodes["users"].Failed, "failed")
}
