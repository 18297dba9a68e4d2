//go:build !unix

package doctor

import "os"

// ownerOf is not implemented on this system.
func ownerOf(os.FileInfo) (user int, known bool) { return 0, false }
