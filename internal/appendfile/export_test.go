package appendfile

import "os"

// OpenWith is Open with another Present.
func OpenWith(path string, present func(*os.File) error) (*File, error) { return open(path, present) }
