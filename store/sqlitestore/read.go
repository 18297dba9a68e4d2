package sqlitestore

import (
	"context"
	"iter"

	"github.com/headrace/headrace/journal"
)

// pageSize is how many records All holds in memory. It reads page by page, so that
// a slow loop does not keep the log from being folded into the file.
const pageSize = 32

const (
	listParts = `SELECT ` + partColumns + ` FROM parts WHERE run = ? AND (node = ? OR ? = '') ORDER BY id`
	listPage  = `SELECT r.content, r.occurrence, ` + recordColumns + ` FROM records r
		WHERE r.part = ? AND (r.content, r.occurrence) > (?, ?) ORDER BY r.content, r.occurrence LIMIT ?`
)

// All implements journal.Journal. Records added during the loop may be missing.
func (j *Journal) All(ctx context.Context, p journal.Part) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		parts, err := j.parts(ctx, p)
		if err != nil {
			yield(journal.Record{}, err)
			return
		}
		for i := range parts {
			part := &parts[i]
			after := journal.Record{Key: journal.Key{Part: part.name, Occurrence: -1}}
			for full := true; full; {
				page, err := j.page(ctx, part, after.Key)
				if err != nil {
					yield(journal.Record{}, err)
					return
				}
				for _, after = range page {
					if !yield(after, nil) {
						return
					}
				}
				full = len(page) == pageSize
			}
		}
	}
}

func (j *Journal) parts(ctx context.Context, p journal.Part) (parts []part, err error) {
	err = j.eachPart(ctx, func(p part) { parts = append(parts, p) }, listParts, p.Run, p.Node, p.Node)
	return parts, err
}

// eachPart calls f for each part that query selects.
func (j *Journal) eachPart(ctx context.Context, f func(part), query string, args ...any) error {
	if err := j.writer.enter(ctx); err != nil {
		return err
	}
	defer j.writer.leave()
	if err := j.written(ctx); err != nil {
		return err
	}
	return j.query(func(scan func(...any) error) error {
		var p part
		if err := scan(p.into()...); err != nil {
			return err
		}
		f(p)
		return p.check()
	}, query, args...)
}

func (j *Journal) page(ctx context.Context, of *part, after journal.Key) (page []journal.Record, err error) {
	if err := j.writer.enter(ctx); err != nil {
		return nil, err
	}
	defer j.writer.leave()
	err = j.query(func(scan func(...any) error) error {
		var c columns
		k := after
		if err := scan(append([]any{&k.Content, &k.Occurrence}, c.into()...)...); err != nil {
			return err
		}
		page = append(page, c.record(k, of.marked))
		return c.check(item{part: of.id, content: k.Content, occurrence: k.Occurrence})
	}, listPage, of.id, after.Content, after.Occurrence, pageSize)
	return page, err
}

// written has the file know what was begun here.
func (j *Journal) written(ctx context.Context) error {
	if !j.begun.waiting() {
		return nil
	}
	return j.writer.commit(ctx, j.begun.writeAll)
}

// query calls row for each row. It has no context: what it reads is little.
func (j *Journal) query(row func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := j.file.reading.QueryContext(j.file.ctx, query, args...)
	if err != nil {
		return j.file.explain(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return j.file.explain(err)
		}
	}
	return j.file.explain(rows.Err())
}
