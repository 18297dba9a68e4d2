package group

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/headrace/headrace/internal/invalid"
)

// mostPath is the longest path of a Unix socket that every system takes, in bytes.
const mostPath = 103

// parse returns the site of an address.
func parse(address string) (site, error) {
	if strings.HasPrefix(address, "https:") || strings.HasPrefix(address, "http:") {
		return parseService(address)
	}
	path, err := parsePath(address)
	return local(path), err
}

// parsePath returns the path in an address.
func parsePath(address string) (path string, err error) {
	problems := invalid.Problems{Owner: "group: Join"}
	path, isUnix := strings.CutPrefix(address, "unix:")
	switch {
	case !isUnix:
		problems.Addf("address", "it is not supported: use unix:PATH, such as unix:/run/user/1000/acme.sock, or https://HOST:PORT")
	case path == "":
		problems.Addf("address", "the path is empty: use unix:PATH, such as unix:/run/user/1000/acme.sock")
	case strings.ContainsRune(path, 0) || path[0] == '@':
		problems.Addf("address", "%q is not the path of a file: only those belong to a user", path)
	case len(path) > mostPath:
		problems.Addf("address", "the path has %d bytes, but that of a socket may have at most %d: use a shorter one", len(path), mostPath)
	}
	if err := problems.Err(); err != nil {
		return "", err
	}
	switch dir, err := os.Stat(filepath.Dir(path)); {
	case err != nil:
		problems.Addf("address", "the directory of the socket has to exist: %v", err)
	case !dir.IsDir():
		problems.Addf("address", "%s is not a directory", filepath.Dir(path))
	}
	if there, err := os.Lstat(path); err == nil && there.Mode()&os.ModeSocket == 0 {
		problems.Addf("address", "%s is not a socket: remove it, or use another path", path)
	}
	if err = supported(); err != nil {
		problems.Addf("address", "%v", err)
	}
	return path, problems.Err()
}
