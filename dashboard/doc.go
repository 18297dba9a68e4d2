// Package dashboard is a page that shows the limiters of a program live: the
// learned rate or concurrency limit of each, and admitted calls, 429s, calls in
// flight, queues and waits on one timeline. One sentence explains why calls
// wait. With a token it can also pause and resume limiters, set limits, and
// drain the program.
//
// One line shows the guards of registry.Default, which headrace.Transport uses:
//
//	d, err := dashboard.Serve(ctx, "127.0.0.1:8788")
//
// A [Dashboard] is an http.Handler for a server of your own, and an event.CallObserver: give it to a registry, a
// transport or a context for the list of events and for failed calls. The rest is read from the guards.
//
// It is for the operators of the program, on the same machine. Requests with a
// Host of another machine, or from other web sites, are rejected, and the page
// loads nothing from elsewhere. From another machine every request needs the
// token. The guide docs/dashboard.md has the HTTP API.
package dashboard
