package requests

import (
	"bufio"
	"bytes"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// seenMost is the number of IDs kept in memory, 24 bytes each. The others are
// in a temporary file, so that scanning takes the same memory for files of any length.
const seenMost = 1 << 16

// seen is one ID: a hash of 16 bytes, and its line.
type seen [24]byte

func seenAt(id string, line int64) (s seen) {
	sum := sha256.Sum256([]byte(id))
	copy(s[:16], sum[:16])
	binary.BigEndian.PutUint64(s[16:], uint64(line)) //nolint:gosec // a line's number is positive
	return s
}

func (s seen) line() int64 { return int64(binary.BigEndian.Uint64(s[16:])) } //nolint:gosec // converted back

func (s seen) same(o seen) bool { return bytes.Equal(s[:16], o[:16]) }

func bySeen(a, b seen) int { return bytes.Compare(a[:], b[:]) }

// twice finds repeated IDs by sorting, on disk if there are many.
type twice struct {
	most   int
	buf    []seen
	file   *os.File // nil if all are in buf
	starts []int64  // offsets of the sorted pieces in file, in IDs
	n      int64    // number of IDs in file
}

// add records an ID. It is called in the order of the lines.
func (t *twice) add(id string, line int64) error {
	if t.most == 0 {
		t.most = seenMost
	}
	if len(t.buf) == t.most {
		if err := t.spill(); err != nil {
			return err
		}
	}
	t.buf = append(t.buf, seenAt(id, line))
	return nil
}

// spill moves the IDs in memory to the file.
func (t *twice) spill() (err error) {
	if t.file == nil {
		if t.file, err = os.CreateTemp("", "headrace-scan-*"); err != nil {
			return err
		}
		_ = os.Remove(t.file.Name()) // the file disappears with the process, if the system supports that
	}
	slices.SortFunc(t.buf, bySeen)
	out := bufio.NewWriterSize(t.file, 1<<16)
	for i := range t.buf {
		if _, err := out.Write(t.buf[i][:]); err != nil {
			return err
		}
	}
	t.starts = append(t.starts, t.n)
	t.n += int64(len(t.buf))
	t.buf = t.buf[:0]
	return out.Flush()
}

// find calls found for each line with the ID of an earlier line. It stops at the first error of found.
func (t *twice) find(found func(again, first seen) error) error {
	slices.SortFunc(t.buf, bySeen)
	all := merge{&piece{buf: t.buf}}
	for i, start := range t.starts {
		end := t.n
		if i+1 < len(t.starts) {
			end = t.starts[i+1]
		}
		from := io.NewSectionReader(t.file, start*int64(len(seen{})), (end-start)*int64(len(seen{})))
		all = append(all, &piece{in: bufio.NewReaderSize(from, 1<<14)})
	}
	return all.run(found)
}

func (t *twice) close() {
	if t.file != nil {
		_ = t.file.Close()
		_ = os.Remove(t.file.Name())
	}
}

// piece is a sorted sequence of IDs.
type piece struct {
	buf  []seen
	in   *bufio.Reader // nil if the piece is in buf
	head seen
}

func (p *piece) next() error {
	if p.in != nil {
		_, err := io.ReadFull(p.in, p.head[:])
		return err
	}
	if len(p.buf) == 0 {
		return io.EOF
	}
	p.head, p.buf = p.buf[0], p.buf[1:]
	return nil
}

// merge is a heap of pieces, the one with the smallest head first.
type merge []*piece

func (m *merge) Len() int           { return len(*m) }
func (m *merge) Less(i, j int) bool { return bySeen((*m)[i].head, (*m)[j].head) < 0 }
func (m *merge) Swap(i, j int)      { (*m)[i], (*m)[j] = (*m)[j], (*m)[i] }
func (m *merge) Push(any)           {} // elements are never added later

// Pop removes the last piece.
func (m *merge) Pop() any {
	*m = (*m)[:len(*m)-1]
	return nil
}

func (m *merge) run(found func(again, first seen) error) error {
	var left merge
	for _, p := range *m {
		switch err := p.next(); {
		case err == nil:
			left = append(left, p)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	heap.Init(&left)
	var first seen
	for begun := false; len(left) > 0; begun = true {
		p := left[0]
		if begun && p.head.same(first) {
			if err := found(p.head, first); err != nil {
				return err
			}
		} else {
			first = p.head
		}
		switch err := p.next(); {
		case err == nil:
			heap.Fix(&left, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(&left)
		default:
			return err
		}
	}
	return nil
}
