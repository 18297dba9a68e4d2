package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// maintainer has an address because Debian's policy demands one. It takes no mail: the homepage says how to report a problem.
const maintainer = "headrace maintainers <headrace@users.noreply.github.com>"

// details follow the summary. The lines are those of the package.
const details = `headrace sends files of requests, runs programs behind a proxy that waits
instead of returning 429s, and serves limits to programs in any language.`

// debianCopyright is in the format of https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/.
const debianCopyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: headrace
Source: ` + homepage + `

Files: *
Copyright: 2026 the authors of headrace
License: ` + license + `
Comment: THIRD-PARTY-LICENSES.txt in this folder has the licences of all other software in the binary.

License: ` + license + `
 The text of this license is in /usr/share/common-licenses/Apache-2.0.
`

// debianOverrides are the findings of lintian that are intended.
const debianOverrides = `# One file for every system, without a C library to match.
headrace: statically-linked-binary [usr/bin/headrace]
`

func debianChangelog(version string, at time.Time) string {
	return fmt.Sprintf("headrace (%s) stable; urgency=medium\n\n  * See %s/blob/%s/CHANGELOG.md\n\n -- %s  %s\n",
		strings.Replace(bare(version), "-", "~", 1), homepage, version, maintainer, at.Format(time.RFC1123Z))
}

// debian writes the package for Debian. Equal files give equal bytes.
func (s *shipment) debian(ctx context.Context, t target, binary []byte, about texts) error {
	manual, err := packed(about.manual)
	if err != nil {
		return err
	}
	changelog, err := packed([]byte(debianChangelog(s.version, s.at)))
	if err != nil {
		return err
	}
	const doc = "usr/share/doc/headrace/"
	return s.tools.deb(ctx, s.dir, s.version, s.at, t, []file{
		{name: "usr/bin/headrace", data: binary, exec: true},
		{name: "usr/share/man/man1/headrace.1.gz", data: manual},
		{name: doc + "changelog.gz", data: changelog},
		{name: doc + "copyright", data: []byte(debianCopyright)},
		{name: doc + "THIRD-PARTY-LICENSES.txt", data: about.notices},
		{name: "usr/share/lintian/overrides/headrace", data: []byte(debianOverrides)},
		{name: "usr/share/bash-completion/completions/headrace", data: about.bash},
		{name: "usr/share/zsh/vendor-completions/_headrace", data: about.zsh},
		{name: "usr/share/fish/vendor_completions.d/headrace.fish", data: about.fish},
	})
}
