package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/cmd/headrace/internal/requests"
)

// Present checks that the file of requests and the folders of the other files exist. The error joins an *Error for each that is missing.
func (r *Run) Present() error {
	p, told := &problems{}, map[string]bool{}
	if _, err := os.Stat(r.Requests); r.Requests != requests.Stdin && errors.Is(err, fs.ErrNotExist) {
		name := r.Requests
		if LooksLikeKey(name) { // the value of a --header without quotes
			name = "a file of that name"
		}
		p.addf("REQUESTS", "%s does not exist: name a file of requests, or - for standard input", name)
		told[filepath.Dir(r.Requests)] = true // what is named after it
	}
	for _, at := range []struct{ flag, path string }{
		{"--out", r.Out}, {"--errors", r.Errors}, {"--journal", r.Journal}, {"--report", r.Report}, {"--share", r.SharePath()},
	} {
		folder := filepath.Dir(at.path) // of an empty one the current one
		if info, err := os.Stat(folder); told[folder] || err == nil && info.IsDir() {
			continue
		}
		told[folder] = true
		p.addf(at.flag, "there is no folder %s: create it, or name another file", folder)
	}
	return errors.Join(p.all...)
}
