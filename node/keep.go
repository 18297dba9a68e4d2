package node

import (
	"fmt"
	"reflect"
	"runtime"
)

// keep makes what the journal has of t, which is done. What cannot be kept fails.
func (r *run[S, In, Out]) keep(t *task[In, Out]) (err error) {
	switch {
	case r.resume != nil:
		t.entry.value, err = r.b.results.encodeResult(&t.res.Out)
	case r.b.text != nil:
		err = r.b.text.check(&t.res.Out)
	}
	if err != nil {
		return &ResultError{Value: t.res.Out, Err: err}
	}
	return nil
}

// texter is a sink that writes results as text.
type texter[Out any] interface {
	// check returns an error for a result that has none.
	check(out *Out) error
}

// code names the code of the batch: it is the same for batches that are made
// again of the same functions, and another for two batches of one name.
func (b *Batch[S, In, Out]) code() string {
	f, ok := b.handler.(*funcs[S, In, Out])
	if !ok {
		return fmt.Sprintf("%T", b.handler)
	}
	exec := runtime.FuncForPC(reflect.ValueOf(f.exec).Pointer())
	if exec == nil {
		return fmt.Sprintf("%T", f.exec)
	}
	return exec.Name()
}
