package appendfile

import "os"

// SyncDirWith replaces how the folder is synced.
func (f *File) SyncDirWith(sync func(folder string) error) { f.syncDir = sync }

// OpenWith is Open with another Present.
func OpenWith(path string, present func(*os.File) error) (*File, error) { return open(path, present) }

// Put is a Write after its check.
func (e *End) Put(p []byte) (int, error) { return e.put(p) }
