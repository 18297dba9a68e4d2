package replay

import (
	"bufio"
	"io"
	"reflect"
	"sync/atomic"
)

// Around is a body whose Read is that of another body, and waits for nothing else.
type Around interface{ Within() io.ReadCloser }

// buffers looks for the body of a response in the buffer of its connection: a short one nearly
// always arrives there with its header. It knows the bodies that net/http returns over HTTP/1.
// The zero buffers is ready to use.
type buffers struct{ seen atomic.Pointer[layout] }

// layout is which fields lead from a body to the buffer.
type layout struct {
	outer, body   reflect.Type // *http.bodyEOFSignal and *http.body
	inner, src    int          // fields of these, the second an *io.LimitedReader
	read, written int          // of *bufio.Reader, which that reads from
}

// hold reports whether body is of that length, and all of it can be read without waiting for the
// connection. If in doubt, it reports false. Nothing else may read the body.
func (b *buffers) hold(body io.Reader, length int64) bool {
	if w, ok := body.(Around); ok {
		body = w.Within()
	}
	if body == nil {
		return false
	}
	outer := reflect.ValueOf(body)
	l := b.seen.Load()
	if l == nil || l.outer != outer.Type() {
		if l = layoutOf(outer); l == nil {
			return false
		}
		b.seen.Store(l)
	}
	inner := outer.Elem().Field(l.inner).Elem()
	if !inner.IsValid() || inner.Type() != l.body {
		return false
	}
	limited := inner.Elem().Field(l.src).Elem()
	if !limited.IsValid() || limited.Type() != reflect.TypeFor[*io.LimitedReader]() {
		return false
	}
	from, left := limited.Elem().Field(0).Elem(), limited.Elem().Field(1).Int() // R and N
	if !from.IsValid() || from.Type() != reflect.TypeFor[*bufio.Reader]() {
		return false
	}
	return left == length && from.Elem().Field(l.written).Int()-from.Elem().Field(l.read).Int() >= length
}

// layoutOf returns nil for another body than those of net/http.
func layoutOf(outer reflect.Value) *layout {
	l := layout{outer: outer.Type()}
	if l.outer.Kind() != reflect.Pointer || l.outer.Elem().PkgPath() != "net/http" || l.outer.Elem().Kind() != reflect.Struct {
		return nil
	}
	if l.inner = field(l.outer.Elem(), "body", reflect.Interface); l.inner < 0 {
		return nil
	}
	inner := outer.Elem().Field(l.inner).Elem()
	if !inner.IsValid() || inner.Kind() != reflect.Pointer || inner.Type().Elem().Kind() != reflect.Struct {
		return nil
	}
	l.body = inner.Type()
	buffer := reflect.TypeFor[bufio.Reader]()
	l.src, l.read, l.written = field(l.body.Elem(), "src", reflect.Interface), field(buffer, "r", reflect.Int), field(buffer, "w", reflect.Int)
	if min(l.src, l.read, l.written) < 0 {
		return nil
	}
	return &l
}

// field returns the number of a field of that name and kind, negative if there is none.
func field(t reflect.Type, name string, kind reflect.Kind) int {
	f, ok := t.FieldByName(name)
	if !ok || f.Type.Kind() != kind || len(f.Index) != 1 {
		return -1
	}
	return f.Index[0]
}
