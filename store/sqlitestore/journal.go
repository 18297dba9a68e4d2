package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/headrace/headrace/journal"
)

// Journal is a journal.Journal in a file, and a journal.LawKeeper and
// journal.Retainer too. It is safe for concurrent use. Several of them, in one
// process or in many, may have the same file open.
type Journal struct {
	file   *file
	writer *writer
	begun  *beginnings
	item   *sql.Stmt // see readItem
}

var (
	_ journal.Journal   = (*Journal)(nil)
	_ journal.LawKeeper = (*Journal)(nil)
	_ journal.Retainer  = (*Journal)(nil)
)

// OpenJournal opens the journal in the file at path. One that is not there is
// made, for this user alone; its folder has to exist.
//
// What is wrong with the file is a *FileError, or a *NewerError if it was written
// by a later release. A path or an option that means nothing is a *fault.FieldError.
// A file of an earlier release is brought up to date.
func OpenJournal(path string, options ...Option) (*Journal, error) {
	f, err := openFile(path, options)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, begun: newBeginnings()}
	if err := f.patiently(func() (err error) {
		j.item, err = f.reading.PrepareContext(f.ctx, readItem)
		return err
	}); err != nil {
		err = f.explain(err)
		_ = f.close()
		return nil, err
	}
	j.writer = newWriter(f, j.begun)
	return j, nil
}

const (
	readPart   = `SELECT id, version, mark, pending, done, failed FROM parts WHERE run = ? AND node = ?`
	insertPart = `INSERT INTO parts (run, node, version, opened, changed) VALUES (?, ?, ?, ?, ?)`
)

// Open implements journal.Journal.
func (j *Journal) Open(ctx context.Context, p journal.Part, version string, at time.Time) (journal.Progress, error) {
	if err := p.Validate(); err != nil {
		return journal.Progress{}, err
	}
	if err := j.writer.enter(ctx); err != nil {
		return journal.Progress{}, err
	}
	defer j.writer.leave()
	var progress journal.Progress
	recorded := version
	err := j.writer.commit(ctx, func(t *tx) error {
		if err := j.settle(t); err != nil {
			return err
		}
		var id int64
		var itsVersion, mark []byte
		found, err := t.row([]any{&id, &itsVersion, &mark, &progress.Pending, &progress.Done, &progress.Failed}, readPart, p.Run, p.Node)
		if err != nil {
			return err
		}
		if !found {
			_, err = t.exec(insertPart, p.Run, p.Node, []byte(version), at.UnixMicro(), at.UnixMicro())
			return err
		}
		recorded, progress.Mark = string(itsVersion), string(mark)
		if recorded == version {
			t.parts.change(id).at(at.UnixMicro())
		}
		return nil
	})
	switch {
	case err != nil:
		return journal.Progress{}, err
	case recorded != version:
		return journal.Progress{}, &journal.VersionError{Part: p, Recorded: recorded, Wanted: version}
	}
	return progress, nil
}

const readItem = `SELECT p.id, r.state, r.attempts, r.begun, r.ended, r.error, r.value
	FROM parts p LEFT JOIN records r ON r.part = p.id AND r.content = ? AND r.occurrence = ?
	WHERE p.run = ? AND p.node = ?`

// Begin implements journal.Journal. What it begins is in the file after the next
// commit, or after 20 ms, and on disk after the next Finish; everybody who uses this Journal knows it at once.
// Only if very many wait to be written, since the file cannot be, it waits for that, and fails if that fails.
func (j *Journal) Begin(ctx context.Context, k journal.Key, at time.Time, retry bool) (journal.Record, error) {
	if err := k.Validate(); err != nil {
		return journal.Record{}, err
	}
	if err := j.writer.enter(ctx); err != nil {
		return journal.Record{}, err
	}
	defer j.writer.leave()
	if j.begun.size() >= begunMost {
		if err := j.writer.commit(ctx, nothing); err != nil {
			return journal.Record{}, err
		}
	}
	for {
		commits := j.begun.committed()
		part, was, err := j.read(k)
		if err != nil {
			return journal.Record{}, err
		}
		i := item{part: part, content: k.Content, occurrence: k.Occurrence}
		if was, ok := j.begun.add(i, was, at.UnixMicro(), retry, commits); ok {
			j.writer.soon()
			return was, nil
		}
	}
}

func nothing(*tx) error { return nil }

// read returns what the file says of k. It has no context: it is over in no time.
func (j *Journal) read(k journal.Key) (part int64, was journal.Record, err error) {
	var c columns
	err = j.item.QueryRowContext(j.file.ctx, k.Content, k.Occurrence, k.Run, k.Node).Scan(append([]any{&part}, c.into()...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, journal.Record{}, journal.ErrNotOpen
	case err != nil:
		return 0, journal.Record{}, j.file.explain(err)
	}
	return part, c.record(k), nil
}

// settle has the transaction know all that happened here before.
func (j *Journal) settle(t *tx) error {
	if err := j.begun.write(t); err != nil {
		return err
	}
	return t.settle()
}

const (
	insertFinished = `INSERT INTO records (part, content, occurrence, state, attempts, begun, ended, error, value)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	finishRecord = `UPDATE records SET state = ?, attempts = ?, ended = ?, error = ?, value = ?
		WHERE part = ? AND content = ? AND occurrence = ? AND state = 1`
	readRecord = `SELECT state, attempts, begun, ended, error, value FROM records
		WHERE part = ? AND content = ? AND occurrence = ?`
)

// Finish implements journal.Journal. On return all is on disk; what concurrent
// callers bring is written together. An error says that nothing was kept, and the same call may be made again.
func (j *Journal) Finish(ctx context.Context, p journal.Part, mark string, records ...journal.Record) (refused []journal.Record, err error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	for i := range records {
		if err := records[i].Validate(p); err != nil {
			return nil, err
		}
	}
	if err := j.writer.enter(ctx); err != nil {
		return nil, err
	}
	defer j.writer.leave()
	opened := false
	err = j.writer.commit(ctx, func(t *tx) error {
		id, found, err := t.part(p)
		if opened = found; err != nil || !found {
			return err
		}
		refused, err = j.finish(t, id, mark, records)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !opened:
		return nil, journal.ErrNotOpen
	}
	return refused, nil
}

func (j *Journal) finish(t *tx, part int64, mark string, records []journal.Record) (refused []journal.Record, err error) {
	c := t.parts.change(part)
	if mark != "" {
		c.mark = mark
	}
	for i := range records {
		r := &records[i]
		kept, err := j.finishOne(t, item{part: part, content: r.Key.Content, occurrence: r.Key.Occurrence}, r)
		if err != nil {
			return nil, err
		}
		if !kept {
			var now columns
			if _, err := t.row(now.into(), readRecord, part, r.Key.Content, r.Key.Occurrence); err != nil {
				return nil, err
			}
			refused = append(refused, now.record(r.Key))
			continue
		}
		c.pending--
		if r.State == journal.Done {
			c.done++
			c.bytes += int64(len(r.Value))
		} else {
			c.failed++
		}
		c.at(r.Ended.UnixMicro())
	}
	return refused, nil
}

// finishOne keeps r if its item is Pending. One that has only just begun is in
// the file in one step, which is half the work.
func (j *Journal) finishOne(t *tx, i item, r *journal.Record) (kept bool, err error) {
	ended := r.Ended.UnixMicro()
	if one := j.begun.take(i); one != nil && one.again {
		if err := t.begin(i, one); err != nil {
			return false, err
		}
	} else if one != nil {
		n, err := t.exec(insertFinished, i.part, i.content, i.occurrence, int64(r.State), r.Attempts, one.at, ended, blob(r.Err), r.Value)
		if err != nil {
			return false, err
		}
		if n > 0 {
			c := t.parts.change(i.part)
			c.pending++ // for a moment, so to say
			c.at(one.at)
			return true, nil
		}
	}
	n, err := t.exec(finishRecord, int64(r.State), r.Attempts, ended, blob(r.Err), r.Value, i.part, i.content, i.occurrence)
	return n > 0, err
}

// Close waits for the calls that are under way, and writes what was begun. It may be called again.
func (j *Journal) Close() error {
	first, err := j.writer.close()
	if !first {
		return err
	}
	return errors.Join(err, j.item.Close(), j.file.close())
}
