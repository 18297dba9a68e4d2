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

// send writes a whole answer, or as much of it as the fault permits. A write error means that the client has disconnected or
// that the status allows no body; it is ignored, because no other action is possible.
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

// breakOff closes the connection. To stall, it waits before that until the client has given up or the server is closed. It does
// not return: a panic is how a handler makes net/http close the connection.
func (c *call) breakOff(brk Break) {
	if brk == BreakStall {
		select {
		case <-c.r.Context().Done():
		case <-c.server.closing:
		}
	}
	panic(http.ErrAbortHandler)
}
