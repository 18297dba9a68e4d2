// Package dashboard is a page that shows what the limiters of a program do while they do it: the rate or the cap
// that each has learned, what it admits, 429s, calls in flight, queues and waits on one timeline, and why calls wait,
// in a sentence. With a token it also pauses and resumes limiters, sets limits, and drains the program.
//
// One line shows the guards of registry.Default, which are those of headrace.Transport:
//
//	d, err := dashboard.Serve(ctx, "127.0.0.1:8788")
//
// A [Dashboard] is an http.Handler for a server of your own, and an event.CallObserver: give it to a registry, a
// transport or a context for the list of events and for failed calls. The rest is read from the guards.
//
// It is for the people that run the program, on the same machine. A Host that is not this machine and requests of
// other web sites are refused, and the page loads nothing from elsewhere. From another machine every request needs
// the token. The guide docs/dashboard.md has the HTTP API.
package dashboard
