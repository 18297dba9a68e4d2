package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestSizes(t *testing.T) {
	const text = "-calls {1000|5000} -x {a b|c} -y"
	assert.Equal(t, "-calls 1000 -x a b -y", pick(text, false))
	assert.Equal(t, "-calls 5000 -x c -y", pick(text, true))
	r := run{packages: "./a ./b", tests: "^TestX$", flags: "-calls {1|2}"}
	assert.Equal(t, "test -json -count=1 -run ^TestX$ -timeout 20m ./a ./b -calls 1", strings.Join(r.command(false), " "))
	assert.Equal(t, "test -json -count=1 -run ^TestX$ -timeout 72h ./a ./b -calls 2", strings.Join(r.command(true), " "))
	r = run{packages: "./a", tests: "FuzzX", flags: "-fuzztime {1s|2s}"}
	assert.Equal(t, "test -json -count=1 -run ^$ -fuzz ^FuzzX$ -fuzzminimizetime 1s -timeout 20m ./a -fuzztime 1s", strings.Join(r.command(false), " "))
}

// The table has every row, each with claims on all its tests, and each text that a mutant replaces is there once.
func TestTheTable(t *testing.T) {
	all := rows()
	require.Len(t, all, 22)
	for i, w := range all {
		assert.Equal(t, i+1, w.id)
		assert.NotEmpty(t, w.what)
		assert.NotEmpty(t, w.runs, w.id)
		for _, r := range w.runs {
			for _, full := range []bool{false, true} {
				claims, err := parseClaims(pick(r.claims, full))
				assert.NoError(t, err, "row %d", w.id)
				assert.NotEmpty(t, claims, "row %d claims nothing of %s %s", w.id, r.packages, r.tests)
				assert.NotContains(t, strings.Join(r.command(full), " ")+pick(r.claims, full), "|1", "row %d", w.id)
			}
			for p := range strings.FieldsSeq(pick(r.packages, false)) {
				assert.DirExists(t, filepath.Join(root, strings.TrimSuffix(p, "/...")), "row %d", w.id)
			}
		}
		for _, m := range w.mutants {
			_, err := m.overlay(root, t.TempDir())
			assert.NoError(t, err, "row %d: %s", w.id, m.name)
			assert.NotEmpty(t, m.by)
		}
	}
	for _, id := range []int{1, 2, 3, 5} {
		assert.NotEmpty(t, all[id-1].mutants, id)
	}
	chosen, err := choose(all, "5,1")
	require.NoError(t, err)
	assert.Equal(t, []int{5, 1}, []int{chosen[0].id, chosen[1].id})
	for _, wrong := range []string{"0", "23", "x", "1,", "1-3", "1,1"} {
		_, err := choose(all, wrong)
		assert.Error(t, err, wrong)
	}
}

func TestTheTextToReplaceHasToBeThereOnce(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.go"), []byte("one two, two"), 0o600))
	for old, ok := range map[string]bool{"one": true, "two": false, "three": false} {
		m := mutant{file: "x.go", old: old, new: "new"}
		path, err := m.overlay(dir, t.TempDir())
		if !ok {
			assert.ErrorContains(t, err, "times in x.go", old)
			continue
		}
		require.NoError(t, err)
		list, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(list), filepath.ToSlash(filepath.Join(dir, "x.go")))
		faulty, err := os.ReadFile(filepath.Join(filepath.Dir(path), "x.go"))
		require.NoError(t, err)
		assert.Equal(t, "new two, two", string(faulty))
	}
}
