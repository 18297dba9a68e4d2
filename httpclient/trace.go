package httpclient

import "net/http/httptrace"

// hook has net/http report to the attempt, and then to the hooks of the caller. httptrace.WithClientTrace would
// combine them by reflection, for each request.
func (a *attempt) hook(theirs *httptrace.ClientTrace) {
	if theirs != nil {
		a.trace = *theirs
	}
	a.trace.GotConn = both(a.onConn, a.trace.GotConn)
	a.trace.WroteRequest = both(a.onSent, a.trace.WroteRequest)
	if also := a.trace.TLSHandshakeStart; also != nil {
		a.trace.TLSHandshakeStart = func() { a.onTLS(); also() }
	} else {
		a.trace.TLSHandshakeStart = a.onTLS
	}
}

func both[T any](ours, theirs func(T)) func(T) {
	if theirs == nil {
		return ours
	}
	return func(info T) {
		ours(info)
		theirs(info)
	}
}
