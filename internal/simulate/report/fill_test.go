package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/internal/simulate/report"
)

func TestFillReplacesWhatWasThere(t *testing.T) {
	page := "# A page\n\n" + report.FillFrom + report.FillTo + "\nThe end.\n"
	first, err := report.Fill([]byte(page), []byte("## Tables: one\n\n| a |\n\n## Tables: two\n\n"))
	require.NoError(t, err)
	assert.Equal(t, "# A page\n\n"+report.FillFrom+"\n### Tables: one\n\n| a |\n\n### Tables: two\n\n"+report.FillTo+"\nThe end.\n", string(first))

	second, err := report.Fill(first, []byte("other\n\n"))
	require.NoError(t, err)
	assert.Equal(t, "# A page\n\n"+report.FillFrom+"\nother\n\n"+report.FillTo+"\nThe end.\n", string(second))
}

func TestFillNeedsAPlace(t *testing.T) {
	for _, page := range []string{"", report.FillFrom, report.FillTo, report.FillTo + report.FillFrom} {
		_, err := report.Fill([]byte(page), nil)
		assert.ErrorContains(t, err, strings.TrimSpace(report.FillTo), "%q", page)
	}
}
