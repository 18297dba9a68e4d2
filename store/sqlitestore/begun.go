package sqlitestore

import (
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/journal"
)

const (
	// begunMost is how many beginnings may wait to be written before Begin waits for that.
	begunMost = 1024
	// begunTime is how long a beginning waits for the end of its item, which makes it needless to write it.
	begunTime = 10 * time.Second
)

// beginnings are the records that became Pending here and are not in the file yet. They need not be durable,
// so no Begin waits for the disk: what is older than begunTime is written with whatever is committed next.
type beginnings struct {
	mu    sync.Mutex // guards all below
	of    map[item]*beginning
	order []*beginning // by age; some may be gone
	taken []*beginning // by the transaction that is open
	// commits counts the transactions that took some out. A reader of the file as it was before such a
	// commit, that looks in here after it, would see a beginning nowhere.
	commits int
}

// item is a record's name in the file.
type item struct {
	part       int64
	content    string
	occurrence int64
}

type beginning struct {
	item     item
	since    time.Time // when Begin was called
	at       int64     // what Begin was given, in microseconds
	again    bool      // the record was Failed
	attempts int       // before
	taken    bool      // by the transaction that is open, or that was committed; guarded by beginnings.mu
}

func newBeginnings() *beginnings { return &beginnings{of: map[item]*beginning{}} }

func (b *beginnings) waiting() bool { return b.size() > 0 }

func (b *beginnings) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.of)
}

func (b *beginnings) committed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.commits
}

// add notes the beginning of an item that the file knew as was, after so many
// commits, and returns what it really was. It is not ok when there was another commit since.
func (b *beginnings) add(i item, was journal.Record, at int64, retry bool, commits int) (_ journal.Record, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.commits != commits {
		return was, false
	}
	known := b.of[i]
	failed := was.State == journal.Failed
	switch {
	case known != nil && (was.State == journal.Unknown || failed && known.again):
		return journal.Record{Key: was.Key, State: journal.Pending, Attempts: known.attempts, Begun: timeOf(known.at)}, true
	case was.State == journal.Unknown, failed && retry:
		one := &beginning{item: i, since: time.Now(), at: at, again: failed, attempts: was.Attempts}
		b.of[i] = one
		b.order = append(b.order, one)
	}
	return was, true
}

// Another process may have come further with the item: then nothing happens.
const (
	insertRecord = `INSERT INTO records (part, content, occurrence, state, attempts, begun, ended, error, value, call, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	writeRecord = `UPDATE records SET state = ?, attempts = ?, begun = ?, ended = ?, error = ?, value = ?, call = ?, sum = ? WHERE id = ?`
	readRecord  = `SELECT ` + recordColumns + ` FROM records r WHERE r.part = ? AND r.content = ? AND r.occurrence = ?`
)

// insert adds the record of i, and reports whether there was none.
func (t *tx) insert(i item, c *columns) (added bool, err error) {
	n, err := t.exec(insertRecord, i.part, i.content, i.occurrence, c.state, c.attempts, c.begun, c.ended, c.err, c.value, c.call, int64(c.sumOf(i)))
	return n > 0, err
}

// write has c take the place of was, the record of i.
func (t *tx) write(i item, was, c *columns) error {
	_, err := t.exec(writeRecord, c.state, c.attempts, c.begun, c.ended, c.err, c.value, c.call, int64(c.sumOf(i)), was.row)
	return err
}

// read returns the record of i.
func (t *tx) read(i item) (*columns, error) {
	var c columns
	if _, err := t.row(c.into(), readRecord, i.part, i.content, i.occurrence); err != nil {
		return nil, err
	}
	return &c, c.check(i)
}

// write implements lazy.
func (b *beginnings) write(t *tx) error { return b.writeUntil(t, time.Now().Add(-begunTime)) }

// writeAll writes all of them.
func (b *beginnings) writeAll(t *tx) error { return b.writeUntil(t, time.Now()) }

// writeUntil writes those that began until then.
func (b *beginnings) writeUntil(t *tx, until time.Time) error {
	for _, one := range b.takeUntil(until) {
		if err := t.begin(one); err != nil {
			return err
		}
	}
	return nil
}

func (b *beginnings) takeUntil(until time.Time) (due []*beginning) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.order {
		if one.since.After(until) {
			break
		}
		if !one.taken {
			due = append(due, one)
			b.takeLocked(one)
		}
	}
	return due
}

// take returns the beginning of i if it is yet to be written, which is up to the caller now.
func (b *beginnings) take(i item) *beginning {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of[i]
	if one == nil || one.taken {
		return nil
	}
	b.takeLocked(one)
	return one
}

func (b *beginnings) takeLocked(one *beginning) {
	one.taken = true
	b.taken = append(b.taken, one)
}

// begin makes the record Pending, unless its part has been forgotten since.
func (t *tx) begin(one *beginning) error {
	p, err := t.partOf(one.item.part)
	if err != nil || p == nil {
		return err
	}
	if one.again {
		return t.beginAgain(p, one)
	}
	added, err := t.insert(one.item, begunAt(one.at, 0))
	if added {
		p.pending++
		p.at(one.at)
	}
	return err
}

func (t *tx) beginAgain(p *part, one *beginning) error {
	was, err := t.read(one.item)
	if err != nil || was.state.Int64 != int64(journal.Failed) {
		return err
	}
	if was.call.Int64 > p.marked {
		p.behind--
	}
	p.pending++
	p.failed--
	p.at(one.at)
	return t.write(one.item, was, begunAt(one.at, int(was.attempts.Int64)))
}

// ended implements lazy.
func (b *beginnings) ended(committed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.taken {
		if one.taken = committed; committed {
			delete(b.of, one.item)
		}
	}
	if committed && len(b.taken) > 0 {
		b.commits++
		b.dropLocked()
	}
	clear(b.taken)
	b.taken = b.taken[:0]
}

// dropLocked takes those that are in the file out of order, when they are most of it.
func (b *beginnings) dropLocked() {
	if len(b.order) > 2*len(b.of) {
		b.order = slices.DeleteFunc(b.order, func(one *beginning) bool { return one.taken })
	}
}
