package requests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine bounds a line, in bytes. A longer line is not a request for a language model, and
// would be in memory once for each call in flight.
const maxLine = 64 << 20

// Error is the reason why reading stopped before the end.
type Error struct {
	Line int64 // the line that was being read
	Err  error
}

// Error names the line.
func (e *Error) Error() string { return fmt.Sprintf("the requests end at line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Read yields the requests of r, line by line. Empty lines are skipped. For an invalid line
// it yields a request with Bad; only an error of r ends the sequence early, with an *Error.
func Read(r io.Reader, f Format) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		lines := &liner{in: bufio.NewReaderSize(r, 1<<16)}
		for n := int64(1); ; n++ {
			text, tooLong, err := lines.next()
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // also within a file that was joined from several
			if n == 1 {
				switch {
				case bytes.HasPrefix(text, []byte("\x1f\x8b")):
					err, text = errPacked, nil
				case isUTF16(text):
					err, text = errUTF16, nil
				}
			}
			if text = bytes.TrimSpace(text); len(text) > 0 && (err == nil || errors.Is(err, io.EOF)) {
				if !yield(requestOf(text, tooLong, n, f), nil) {
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

func requestOf(text []byte, tooLong bool, n int64, f Format) Request {
	if !tooLong {
		return parse(text, n, f)
	}
	q := bad(text, n, "it is longer than %d MiB", maxLine>>20)
	if q.NotObject = fromArray; text[0] != '[' {
		q.NotObject = onePerLine
	}
	return q
}

var errPacked = errors.New("they are compressed with gzip: use a file name that ends in .gz, or decompress standard input with zcat")

// isUTF16 reports whether a file that begins with text is UTF-16, with a byte order mark or without one.
func isUTF16(text []byte) bool {
	for _, begin := range []string{"\xff\xfe", "\xfe\xff", "{\x00", "\x00{", "[\x00", "\x00["} {
		if bytes.HasPrefix(text, []byte(begin)) {
			return true
		}
	}
	return false
}

var errUTF16 = errors.New("they are UTF-16, as PowerShell writes it: save them as UTF-8")

// liner splits its input into lines, in a buffer that it reuses.
type liner struct {
	in  *bufio.Reader
	buf []byte
}

// next returns a line without its end, valid until the next call. If the line is too
// long, it returns the beginning.
func (l *liner) next() (line []byte, tooLong bool, err error) {
	if cap(l.buf) > 1<<20 {
		l.buf = nil // the memory of one long line is not kept for ever
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
