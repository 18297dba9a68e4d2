// Package journaltest is the suite that every journal.Journal has to pass.
//
//	func TestJournal(t *testing.T) {
//		journaltest.Test(t, func(t *testing.T) journaltest.Storage {
//			path := filepath.Join(t.TempDir(), "journal.db")
//			return journaltest.Storage{Lasting: true, Open: func() (journal.Journal, error) { return Open(path) }}
//		})
//	}
package journaltest
