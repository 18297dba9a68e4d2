package settings

import (
	"os"
	"path/filepath"
	"strings"
)

// apart has each file be one of its own, also where links lead to it: what is emptied for results must not be the requests.
func (r *Run) apart(p *problems) {
	type place struct {
		flag, path string
		stream     os.FileInfo // of "-"
	}
	type file struct {
		flag, path string
		info       os.FileInfo // nil: it is not there
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
			if at.flag == "--share" && other.flag == "--journal" && strings.HasPrefix(r.Share, "sqlite:") { // one file can be both
				continue
			}
			if f.path != "" && f.path == other.path || f.info != nil && other.info != nil && os.SameFile(f.info, other.info) {
				p.addf(at.flag, "%s is that of %s too: each needs a file of its own", at.path, other.flag)
				break
			}
		}
		taken = append(taken, f)
	}
}

// mostLinks bounds how many links are followed from a path, as Linux does.
const mostLinks = 40

// resolved is where path leads to, also through links to what is not there yet.
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
		if err != nil { // it is none
			return path
		}
		if path = link; !filepath.IsAbs(link) {
			path = filepath.Join(folder, link)
		}
	}
	return path
}
