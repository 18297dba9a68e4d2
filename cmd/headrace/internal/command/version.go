package command

import (
	"fmt"
	"runtime/debug"
)

type versionCommand struct{}

// Run is called by kong.
func (*versionCommand) Run(p *Program) error {
	fmt.Fprintln(p.Stdout, "headrace "+version())
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintln(p.Stdout, info.GoVersion)
	}
	return nil
}

// version returns the version of the module, or of the revision it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
