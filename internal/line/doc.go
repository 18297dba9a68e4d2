// Package line decides which of the calls that wait for a guard is admitted
// next, and for how long they wait. There is one line for each guard. Only the
// call at its head asks the guard for admission, so the order can change until
// a call is admitted.
//
// A context of Lines.With is all that a call needs:
//
//	ctx, ticket := lines.With(ctx, line.Caller{Client: "ci", Priority: line.Batch})
//	resp, err := client.Do(req.WithContext(ctx)) // *line.FullError, *line.WaitError
//
// Interactive calls go before Batch calls, of which one in 19 is admitted as
// long as both wait. Within a class the clients share by weight, and a client's
// calls go in the order of their arrival. A call that the provider rejected
// keeps its place in the guard, ahead of the line.
package line
