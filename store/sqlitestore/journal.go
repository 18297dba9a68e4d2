package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/headrace/headrace/journal"
)

// Journal is a journal.Journal, a journal.LawKeeper and a journal.Retainer in a file. It is safe for
// concurrent use. Several Journals, in one process or in many, may have the same file open.
type Journal struct {
	file   *file
	writer *writer
	begun  *beginnings
	fresh  *fresh
	item   *sql.Stmt // see readItem
}

var (
	_ journal.Journal   = (*Journal)(nil)
	_ journal.LawKeeper = (*Journal)(nil)
	_ journal.Retainer  = (*Journal)(nil)
)

// OpenJournal opens the file at path, or creates it with access for this user alone; its folder must
// exist. A file of an earlier release is migrated. Errors are a *FileError, a *NewerError, or
// *fault.FieldErrors for invalid arguments.
func OpenJournal(path string, opts ...Option) (*Journal, error) {
	f, err := openFile(path, opts)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, begun: newBeginnings(), fresh: newFresh()}
	if err := f.patiently(func() (err error) {
		j.item, err = f.reading.PrepareContext(f.ctx, readItem)
		return err
	}); err != nil {
		err = f.explain(err)
		_ = f.close()
		return nil, err
	}
	j.writer = newWriter(f, j.begun, j.fresh.changed)
	return j, nil
}

// Open implements journal.Journal. A claim lapses after 30 s without Renew.
func (j *Journal) Open(ctx context.Context, name journal.Part, owner journal.Owner, version string, at time.Time) (journal.Progress, error) {
	if err := errors.Join(name.Validate(), owner.Validate()); err != nil {
		return journal.Progress{}, err
	}
	var id int64
	var progress journal.Progress
	var refused error
	err := j.change(ctx, func(t *tx) (err error) {
		id, progress, refused, err = j.open(t, name, owner, version, at)
		return err
	})
	switch {
	case err != nil:
		return journal.Progress{}, err
	case refused != nil:
		return journal.Progress{}, refused
	}
	j.fresh.opened(name, id, progress.Pending+progress.Done+progress.Failed == 0, at)
	return progress, nil
}

func (j *Journal) open(
	t *tx, name journal.Part, owner journal.Owner, version string, at time.Time,
) (id int64, progress journal.Progress, refused, err error) {
	if err := j.settle(t); err != nil {
		return 0, progress, nil, err
	}
	p, err := t.part(name)
	if err != nil {
		return 0, progress, nil, err
	}
	if p == nil {
		if p, err = t.newPart(name, version, at.UnixMicro()); err != nil {
			return 0, progress, nil, err
		}
	}
	if held := p.excluded(owner, at); held != nil {
		return 0, progress, held, nil
	}
	if string(p.version) != version {
		return 0, progress, &journal.VersionError{Part: name, Recorded: string(p.version), Wanted: version}, nil
	}
	p.claim(owner, at.UnixMicro())
	p.at(at.UnixMicro())
	return p.id, p.progress(), nil, nil
}

const readItem = `SELECT p.id, p.marked, ` + recordColumns + `
	FROM parts p LEFT JOIN records r ON r.part = p.id AND r.content = ? AND r.occurrence = ?
	WHERE p.run = ? AND p.node = ?`

// Begin implements journal.Journal. The record is in the file within 20 seconds, unless the item is finished
// before. It waits, and may fail, only if too many records wait to be written.
func (j *Journal) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if err := k.Validate(); err != nil {
		return journal.Record{}, err
	}
	if err := j.writer.enter(ctx); err != nil {
		return journal.Record{}, err
	}
	defer j.writer.leave()
	if j.begun.size() >= begunMost {
		if err := j.writer.commit(ctx, j.begun.writeAll); err != nil {
			return journal.Record{}, err
		}
	}
	for first := true; ; first = false {
		commits := j.begun.committed()
		was := journal.Record{Key: k}
		part, isNew := int64(0), false
		if first {
			part, isNew = j.fresh.begins(k, at)
		}
		if !isNew {
			var err error
			if part, was, err = j.read(k); err != nil {
				return journal.Record{}, err
			}
		}
		i := item{part: part, content: k.Content, occurrence: k.Occurrence}
		if was, ok := j.begun.add(i, was, at.UnixMicro(), retry, commits); ok {
			j.writer.later()
			return was, nil
		}
	}
}

// read returns what the file says of k. It has no context, since it takes microseconds.
func (j *Journal) read(k journal.Key) (part int64, was journal.Record, err error) {
	var c columns
	var marked int64
	err = j.item.QueryRowContext(j.file.ctx, k.Content, k.Occurrence, k.Run, k.Node).Scan(append([]any{&part, &marked}, c.into()...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, journal.Record{}, journal.ErrNotOpen
	}
	if err == nil {
		err = c.check(item{part: part, content: k.Content, occurrence: k.Occurrence})
	}
	if err != nil {
		return 0, journal.Record{}, j.file.explain(err)
	}
	return part, c.record(k, marked), nil
}

// settle has the transaction know all that happened here before.
func (j *Journal) settle(t *tx) error {
	if err := j.begun.writeAll(t); err != nil {
		return err
	}
	return t.settle()
}

// Finish implements journal.Journal. After an error nothing was recorded, and the same call
// may be repeated.
func (j *Journal) Finish(
	ctx context.Context, name journal.Part, owner journal.Owner, mark string, records ...journal.Record,
) (refused []journal.Record, err error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	for i := range records {
		if err := records[i].Validate(name); err != nil {
			return nil, err
		}
	}
	err = j.held(ctx, name, owner, j.writer.commit, func(t *tx, p *part) error {
		refused, err = j.finish(t, p, mark, records)
		return err
	})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

func (j *Journal) finish(t *tx, p *part, mark string, records []journal.Record) (refused []journal.Record, err error) {
	if p.dirty = true; mark != "" {
		p.mark, p.marked, p.behind = []byte(mark), p.calls, 0
	}
	p.calls++
	for i := range records {
		r := &records[i]
		was, err := j.finishOne(t, p, r)
		if err != nil {
			return nil, err
		}
		if was != nil {
			refused = append(refused, was.record(r.Key, p.marked))
			continue
		}
		p.behind++
		p.pending--
		if r.State == journal.Done {
			p.done++
			p.bytes += int64(len(r.Value))
		} else {
			p.failed++
		}
		p.at(r.Ended.UnixMicro())
	}
	return refused, nil
}

// finishOne keeps r if its item is Pending, and else returns what it is. An item that
// has only just begun is in the file in one step, which is half the work.
func (j *Journal) finishOne(t *tx, p *part, r *journal.Record) (was *columns, err error) {
	i := item{part: p.id, content: r.Key.Content, occurrence: r.Key.Occurrence}
	if one := j.begun.take(i); one != nil && one.again {
		if err := t.begin(one); err != nil {
			return nil, err
		}
	} else if one != nil {
		added, err := t.insert(i, finished(r, one.at, p.calls))
		if err != nil {
			return nil, err
		}
		if added {
			p.pending++ // as the caller takes one away
			p.at(one.at)
			return nil, nil
		}
	}
	was, err = t.read(i)
	if err != nil || was.state.Int64 != int64(journal.Pending) {
		return was, err
	}
	return nil, t.write(i, was, finished(r, was.begun.Int64, p.calls))
}

// Close waits for running calls and writes what was begun. It may be called again.
func (j *Journal) Close() error {
	first, err := j.writer.close()
	if !first {
		return err
	}
	return errors.Join(err, j.item.Close(), j.file.close())
}
