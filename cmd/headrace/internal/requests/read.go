package requests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine bounds a line, in bytes: what is longer is no request for a language model, and
// would have to fit into memory as often as there are calls in flight.
const maxLine = 64 << 20

// Error is why reading ended before the end.
type Error struct {
	Line int64 // that was being read
	Err  error
}

// Error names the line.
func (e *Error) Error() string { return fmt.Sprintf("the requests end at line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Read yields the requests of r, line by line. Empty lines are passed over. A line that
// is no request is one with Bad; only r itself ends the sequence early, with an *Error.
func Read(r io.Reader, f Format) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		lines := &liner{in: bufio.NewReaderSize(r, 1<<16)}
		for n := int64(1); ; n++ {
			text, tooLong, err := lines.next()
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
				switch {
				case bytes.HasPrefix(text, []byte("\x1f\x8b")):
					err, text = errPacked, nil
				case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
					err, text = errUTF16, nil
				}
			}
			if text = bytes.TrimSpace(text); len(text) > 0 && (err == nil || errors.Is(err, io.EOF)) {
				q := parse(text, n, f)
				if tooLong {
					q = bad(text, n, "it is longer than %d MiB", maxLine>>20)
				}
				if !yield(q, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Request{}, &Error{Line: n, Err: err})
				return
			}
		}
	}
}

var errPacked = errors.New("they are packed by gzip: give the file a name that ends in .gz, or unpack standard input by zcat")

var errUTF16 = errors.New("they are UTF-16, as PowerShell writes it: save them as UTF-8")

// liner cuts lines, in memory that it uses again.
type liner struct {
	in  *bufio.Reader
	buf []byte
}

// next returns a line without its end, valid until the next call. Of one that is too
// long it is the beginning.
func (l *liner) next() (line []byte, tooLong bool, err error) {
	if cap(l.buf) > 1<<20 {
		l.buf = nil // one long line does not cost for ever
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if room := maxLine - len(l.buf); len(part) > room {
			tooLong, part = true, part[:room]
		}
		l.buf = append(l.buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.buf, tooLong, err
		}
	}
}
