package sqlitestore

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/fault"
	"github.com/headrace/headrace/internal/meter"
)

// account is one key.
type account struct {
	meter.Key
	name  string
	found bool // in the file
	gone  bool // it was there, and is to be deleted unless it is dirty
	dirty bool // differs from what is there
}

const (
	readQuota   = `SELECT state FROM quotas WHERE key = ?`
	addQuota    = `INSERT OR ROLLBACK INTO quotas (state, key) VALUES (?, ?)`
	writeQuota  = `UPDATE OR ROLLBACK quotas SET state = ? WHERE key = ?`
	deleteQuota = `DELETE FROM quotas WHERE key = ?`
	listQuotas  = `SELECT key, state FROM quotas WHERE key >= ? ORDER BY key LIMIT ?`
)

// forget deletes the key, whatever is in its row.
func (l *ledger) forget(name string) {
	l.keys[name] = &account{name: name, gone: true}
	l.freed = append(l.freed, name)
}

func (l *ledger) cool(key string, d time.Duration) error {
	k, err := l.load(key)
	if err == nil && d > 0 {
		k.Cooled, k.dirty = max(k.Cooled, l.after(d)), true
	}
	return err
}

// load returns the key, without the slots that have lapsed.
func (l *ledger) load(name string) (*account, error) {
	if k := l.keys[name]; k != nil {
		return k, nil
	}
	var text []byte
	found, err := l.q.tx.row([]any{&text}, readQuota, []byte(name))
	if err != nil {
		return nil, err
	}
	k := &account{name: name, found: found}
	if found {
		read, err := l.q.codec.Read(text, name)
		if err != nil {
			return nil, stateError(name, err)
		}
		k.Key = *read
		k.Lapse(l.now)
	}
	l.keys[name] = k
	return k, nil
}

// stateError is err about the state of a key.
func stateError(name string, err error) error {
	field := &fault.FieldError{Owner: "sqlitestore", Field: fmt.Sprintf("the limits of %q", name), Problem: err.Error()}
	if errors.Is(err, meter.ErrDamaged) {
		return &sumError{of: field.Field, field: field}
	}
	return field
}

// write writes what has changed.
func (l *ledger) write() error {
	news := 0
	for _, k := range l.keys {
		if k.gone {
			if _, err := l.q.tx.exec(deleteQuota, []byte(k.name)); err != nil {
				return err
			}
		}
		if !k.dirty {
			continue
		}
		l.used = true
		query := writeQuota
		if !k.found {
			query = addQuota
			news++
		}
		l.q.bytes = l.q.codec.Append(l.q.bytes[:0], k.name, &k.Key)
		if _, err := l.q.tx.exec(query, l.q.bytes, []byte(k.name)); err != nil {
			return err
		}
	}
	if news > 0 {
		if err := l.sweep(2 * news); err != nil {
			return err
		}
	}
	if !l.used {
		return nil
	}
	query := writeQuota
	if l.first {
		query = addQuota
	}
	_, err := l.q.tx.exec(query, l.clock.append(l.q.bytes[:0]), []byte{})
	return err
}

// sweep looks at the next n keys and deletes those that do not differ from a
// new one. Called with twice the number of new keys, it deletes idle keys
// faster than new ones are made.
func (l *ledger) sweep(n int) error {
	page, err := l.page(max(l.q.hand, firstKey), n)
	if err != nil {
		return err
	}
	l.q.hand = firstKey
	if len(page) == n {
		l.q.hand = page[n-1].name + "\x00"
	}
	for _, k := range page {
		if k.damaged || !k.Idle(l.now) {
			continue
		}
		if _, err := l.q.tx.exec(deleteQuota, []byte(k.name)); err != nil {
			return err
		}
	}
	return nil
}

// firstKey is where the keys begin, behind the clock.
const firstKey = "\x00"

// listed is a key of a page.
type listed struct {
	meter.Key
	name    string
	damaged bool
}

// page returns n keys in their order, from one on.
func (l *ledger) page(from string, n int) (page []listed, err error) {
	statement, err := l.q.tx.prepared(listQuotas) //nolint:sqlclosecheck // it is kept; close closes it
	if err != nil {
		return nil, err
	}
	rows, err := statement.QueryContext(l.q.tx.ctx, []byte(from), n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name, text []byte
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		k := listed{name: string(name)}
		if read, err := l.q.codec.Read(text, k.name); err == nil {
			k.Key = *read
		} else {
			k.damaged = true
		}
		page = append(page, k)
	}
	return page, rows.Err()
}
