package journal_test

import (
	"testing"

	"github.com/headrace/headrace/journal"
	"github.com/headrace/headrace/journal/journaltest"
)

func TestMemory(t *testing.T) {
	journaltest.Test(t, func(*testing.T) journaltest.Storage {
		return journaltest.Storage{Open: func() (journal.Journal, error) { return journal.NewMemory(), nil }}
	})
}
