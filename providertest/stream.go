package providertest

import "net/http"

// stream sends an answer as server-sent events. Its slot is given back just
// before the last of them.
func (c *call) stream(events []event, output int) {
	if c.fault.breaks() == BreakHeader {
		c.end(0, 0, false)
	}
	c.setHeaders(c.server.look(c.seq))
	c.w.Header().Set("Cache-Control", "no-cache")
	c.spoilHeader("text/event-stream")
	c.w.WriteHeader(http.StatusOK)
	sent, brk := 0, c.fault.breaks() // sent: tokens
	for i, e := range events {
		if i > 0 && !c.server.sleep(c.r, c.server.config.Pace) || c.r.Context().Err() != nil {
			c.end(http.StatusOK, sent, false)
			c.breakOff(BreakBody)
		}
		if i == len(events)/2 && brk != noBreak {
			c.end(http.StatusOK, sent, false)
			if brk != BreakError {
				c.breakOff(brk)
			}
			c.write(c.errorEvent().encode())
			return
		}
		sent = e.output
		if i == len(events)-1 {
			c.end(http.StatusOK, output, true)
		}
		c.write(e.encode())
	}
}

// errorEvent is what the fault says in the middle of a stream, or that the
// provider is overloaded where it says nothing.
func (c *call) errorEvent() event {
	fault := *c.fault
	if fault.Status == 0 && fault.cause == badRequest {
		fault.cause = overloaded
	}
	e := event{data: c.speech.failure(fault.failure(c.speech), 0)}
	if c.req.Path == messagesRoute().path {
		e.name = "error"
	}
	return e
}

// encode returns the event as it is sent.
func (e event) encode() []byte {
	var text []byte
	if e.name != "" {
		text = append(text, "event: "+e.name+"\n"...)
	}
	text = append(text, "data: "...)
	if raw, ok := e.data.(rawEvent); ok {
		text = append(text, raw...)
	} else {
		text = append(text, encode(e.data)...)
	}
	return append(text, "\n\n"...)
}
