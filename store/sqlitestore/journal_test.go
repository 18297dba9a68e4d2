package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/journal/journaltest"
	"github.com/headrace/headrace/store/sqlitestore"
)

func TestJournal(t *testing.T) {
	journaltest.Test(t, func(t *testing.T) journaltest.Storage {
		t.Helper()
		path := filepath.Join(t.TempDir(), "journal.db")
		return journaltest.Storage{
			Open:    func() (journal.Journal, error) { return sqlitestore.OpenJournal(path) },
			Lasting: true,
		}
	})
}

// The same, with a query for each item that begins.
func TestJournalThatAsksTheFile(t *testing.T) {
	journaltest.Test(t, func(t *testing.T) journaltest.Storage {
		t.Helper()
		path := filepath.Join(t.TempDir(), "journal.db")
		return journaltest.Storage{
			Open: func() (journal.Journal, error) {
				j, err := sqlitestore.OpenJournal(path)
				if err == nil {
					j.AlwaysAsk()
				}
				return j, err
			},
			Lasting: true,
		}
	})
}
