package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/providertest"
)

func TestAReportGoesWhereItsLinkLeads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	require.NoError(t, os.Symlink("elsewhere", p.path("link")))
	status, _, errs := p.run("--report", "link")
	require.Zero(t, status, errs)
	assert.Contains(t, p.read("elsewhere"), `"done": 1`)
	to, err := os.Readlink(p.path("link"))
	require.NoError(t, err)
	assert.Equal(t, "elsewhere", to)
}

func TestAReportIsNotAFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t, providertest.Config{})
	p.requests(1)
	require.NoError(t, os.Mkdir(p.path("folder"), 0o700))
	status, _, errs := p.run("--report", "folder")
	require.Equal(t, 2, status)
	assert.Contains(t, errs, "--report: folder is a folder: name a file\n")
}
