package providertest

import (
	"net/http"
	"strconv"
)

// fail sends an error that no fault spoils.
func (c *call) fail(f *failure) {
	c.fault = nil
	c.send(f.status, c.speech.errorType, encode(c.speech.failure(f, 0)))
}

// send writes a whole answer, or as much of it as the fault lets through. A write
// error means that the client is gone, or that the status allows no body; there
// is nobody left to tell.
func (c *call) send(status int, contentType string, body []byte) {
	c.spoilHeader(contentType)
	brk := c.fault.breaks()
	if brk == noBreak {
		c.w.WriteHeader(status)
		_, _ = c.w.Write(body)
		return
	}
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	c.write(body[:len(body)/2])
	c.breakOff(brk)
}

// spoilHeader sets the fields of the answer and then those of the fault. It does
// not return if the connection is cut before the header.
func (c *call) spoilHeader(contentType string) {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	if c.fault == nil {
		return
	}
	for name, values := range c.fault.Header {
		h.Del(name)
		for _, value := range values {
			h.Add(name, value)
		}
	}
	if c.fault.Break == BreakHeader {
		c.breakOff(BreakHeader)
	}
}

// write sends a part of an answer at once.
func (c *call) write(data []byte) {
	_, _ = c.w.Write(data)
	_ = http.NewResponseController(c.w).Flush()
}

// breakOff cuts the connection, where it is to stall when the client has given
// up or the server is closed. It does not return: this is how a handler tells
// net/http to cut.
func (c *call) breakOff(brk Break) {
	if brk == BreakStall {
		select {
		case <-c.r.Context().Done():
		case <-c.server.closing:
		}
	}
	panic(http.ErrAbortHandler)
}
