package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

const module = "github.com/headrace/headrace"

// mixed says which judge or rig shares code with what it judges, if any does.
func (r *runner) mixed(ctx context.Context, apart []string) string {
	for _, a := range apart {
		judge, judged, _ := strings.Cut(a, ":")
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "./"+judge) //nolint:gosec // of the table
		cmd.Dir = r.root
		out, err := cmd.Output()
		if err != nil {
			return fmt.Sprintf("go list -deps ./%s: %v", judge, err)
		}
		deps := strings.Fields(string(out))
		if !slices.Contains(deps, module+"/"+judge) {
			return "go list does not know " + judge
		}
		for j := range strings.FieldsSeq(judged) {
			if slices.Contains(deps, module+"/"+j) {
				return fmt.Sprintf("%s, which judges, shares code with %s", judge, j)
			}
		}
	}
	return ""
}
