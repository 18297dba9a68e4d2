package httpclient

import "net/http/httptrace"

// hook sets the trace of the attempt: the client's hooks first, then the caller's (theirs may be nil). It is what
// httptrace.WithClientTrace does, without reflection on every request.
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

// both calls ours, then theirs if there is one.
func both[T any](ours, theirs func(T)) func(T) {
	if theirs == nil {
		return ours
	}
	return func(info T) {
		ours(info)
		theirs(info)
	}
}
