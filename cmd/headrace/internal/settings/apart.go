package settings

import (
	"os"
	"path/filepath"
	"strings"
)

// apart checks that all files are different, also if links lead to them: the file emptied for results must not hold the requests.
func (r *Run) apart(p *problems) {
	type place struct {
		flag, path string
		stream     os.FileInfo // of "-"
	}
	type file struct {
		flag, path string
		info       os.FileInfo // nil if the file does not exist
	}
	var taken []file
	for _, at := range []place{
		{"REQUESTS", r.Requests, r.Stdin},
		{"--config", r.ConfigFile, nil},
		{"--out", r.Out, r.Stdout},
		{"--errors", r.Errors, nil},
		{"--journal", r.Journal, nil},
		{"--report", r.Report, nil},
		{"--share", r.SharePath(), nil},
	} {
		f := file{flag: at.flag}
		switch {
		case at.path == "", !Regular(at.path), at.path == "-" && (at.stream == nil || !at.stream.Mode().IsRegular()):
			continue
		case at.path == "-":
			f.info = at.stream
		default:
			f.path = resolved(at.path)
			f.info, _ = os.Stat(f.path)
		}
		for _, other := range taken {
			if at.flag == "--share" && other.flag == "--journal" && strings.HasPrefix(r.Share, "sqlite:") { // one device can be used for both
				continue
			}
			if f.path != "" && f.path == other.path || f.info != nil && other.info != nil && os.SameFile(f.info, other.info) {
				p.addf(at.flag, "%s is also used for %s: each needs a file of its own", at.path, other.flag)
				break
			}
		}
		taken = append(taken, f)
	}
}

// mostLinks bounds how many links are followed from a path, as Linux does.
const mostLinks = 40

// resolved returns the file that path leads to, also through links to files that do not exist yet.
func resolved(path string) string {
	for range mostLinks {
		abs, err := filepath.Abs(path)
		if err != nil {
			return path
		}
		folder, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return abs
		}
		path = filepath.Join(folder, filepath.Base(abs))
		link, err := os.Readlink(path)
		if err != nil { // it is not a link
			return path
		}
		if path = link; !filepath.IsAbs(link) {
			path = filepath.Join(folder, link)
		}
	}
	return path
}
