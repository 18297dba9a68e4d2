package headrace

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// kept is a body of which the beginning has been read, and is given to the
// caller as if nothing had been.
type kept struct {
	head []byte
	read int           // of head, by the caller
	rest io.ReadCloser // what follows; nil: nothing, and the body is closed
	err  error         // with which it ended behind head, but for io.EOF
}

// Read implements io.Reader.
func (k *kept) Read(p []byte) (int, error) {
	n := copy(p, k.head[k.read:])
	k.read += n
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case k.rest != nil:
		return k.rest.Read(p)
	case k.err != nil:
		return 0, k.err
	}
	return 0, io.EOF
}

// Close closes what is left of the body.
func (k *kept) Close() error {
	if k.rest == nil {
		return nil
	}
	return k.rest.Close()
}

// keep reads up to mostAnswer of body and closes it if that was all. length is
// how long it says that it is, negative if it does not.
func keep(body io.ReadCloser, length int64) *kept {
	size := int64(bytes.MinRead)
	if length >= 0 {
		size = min(length, mostAnswer) + 1 // for the end to be seen
	}
	k := &kept{head: make([]byte, 0, size)}
	k.fill(body, func([]byte) bool { return false })
	return k
}

// hold reads body until the object that it begins with is there. What begins
// with anything else is passed on at once: a list may be a stream of its
// elements, as Gemini's is. whole means that there is no more.
func hold(body io.ReadCloser) (k *kept, whole bool) {
	k = &kept{head: make([]byte, 0, bytes.MinRead)}
	var o outline
	k.fill(body, o.done)
	return k, k.rest == nil
}

// fill reads until done has seen enough, and closes what has ended.
func (k *kept) fill(body io.ReadCloser, done func([]byte) bool) {
	for len(k.head) < mostAnswer {
		if len(k.head) == cap(k.head) {
			k.head = append(k.head, 0)[:len(k.head)]
		}
		n, err := body.Read(k.head[len(k.head):min(cap(k.head), mostAnswer)])
		fresh := k.head[len(k.head) : len(k.head)+n]
		k.head = k.head[:len(k.head)+n]
		if err != nil {
			_ = body.Close() // it has ended
			if err != io.EOF {
				k.err = err
			}
			return
		}
		if done(fresh) {
			break
		}
	}
	k.rest = body
}

// release lets go of the connection of a response that is not wanted for now. It
// can still be returned later, as much of it as was kept.
func release(resp *http.Response) {
	if resp == nil || resp.Body == nil {
		return
	}
	k, ok := resp.Body.(*kept)
	switch {
	case !ok: // there is nothing in it
		_ = resp.Body.Close()
	case k.rest != nil:
		_ = k.rest.Close()
		k.rest, k.err = nil, io.ErrUnexpectedEOF
	}
}

// plain reports whether a body is not compressed.
func plain(h http.Header) bool {
	coding := first(h, "Content-Encoding")
	return coding == "" || strings.EqualFold(coding, "identity")
}

// text is what can be read of the head of a body. A caller who has asked for gzip
// gets it as it came; no other coding is undone.
func text(h http.Header, head []byte) []byte {
	if plain(h) {
		return head
	}
	if coding := first(h, "Content-Encoding"); !strings.EqualFold(coding, "gzip") && !strings.EqualFold(coding, "x-gzip") {
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(z, mostAnswer)) // as much as there is
	return said
}

// outline follows the brackets of a JSON object.
type outline struct {
	depth int
	begun bool
	quote bool // within a text
	slash bool // behind a backslash
}

// done takes in what was read, and reports whether the object has ended, or
// there is none.
func (o *outline) done(p []byte) bool {
	for _, c := range p {
		switch {
		case o.slash:
			o.slash = false
		case o.quote && c == '\\':
			o.slash = true
		case c == '"':
			o.quote = !o.quote
		case o.quote:
		case c == '{' || o.begun && c == '[':
			o.depth++
			o.begun = true
		case c == '}' || c == ']':
			o.depth--
		}
		blank := c == ' ' || c == '\t' || c == '\r' || c == '\n'
		if !o.begun && !blank || o.begun && o.depth <= 0 {
			return true
		}
	}
	return false
}
