package headrace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An event that passes at once yields what it does byte by byte: nothing.
func TestEventsThatPass(t *testing.T) {
	const usage = `"usage":{"total_tokens":3}`
	for event, passes := range map[string]bool{
		`data: {"delta":"words"}`:                                    true,
		"event: e\nid: 1\ndata: {\"delta\":\"an error, its usage\"}": true,
		`data: {"delta":"\"error\" and \"usage\""}`:                  true,
		`data: {"usage":null}`:                                       true,
		`data: {"usage":null,"delta":{` + usage + `}}`:               false,
		`data: {` + usage + `}`:                                      false,
		`data: {"usageMetadata":{"totalTokenCount":3}}`:              false,
		`data: {"usage_metadata":{"total_tokens":3}}`:                false,
		`data: {"meta":{"billed_units":{"output_tokens":3}}}`:        false,
		"data: {\ndata: " + usage + "}":                              false,
		`data: {"error":{"code":1}}`:                                 false,
		`data: {"type":"error","code":1}`:                            false,
		`data: {"base_resp":{"status_code":1002}}`:                   false,
		`:`: true,
	} {
		assert.Equal(t, passes, newScan(true).passes([]byte(event)), event)
		for _, ending := range []string{"\n", "\r\n", "\r"} {
			text := strings.ReplaceAll(event+"\n\n"+`data: {"delta":"more"}`+"\n\n"+event+"\n\n", "\n", ending)
			told := scanned([]byte(text), true, true, len(text))
			assert.Equal(t, scanned([]byte(text), true, true, 1), told, "%q", text)
			assert.Equal(t, passes, told == "", "%q", text)
			assert.Equal(t, scanned([]byte(text), true, false, 1), scanned([]byte(text), true, false, len(text)), "%q", text)
		}
	}
}

// What the first event says of usage is not the last word, whether it passes or not.
func TestEventsThatPassEndTheFirst(t *testing.T) {
	const start, more = "data: {\"message\":{\"usage\":{\"output_tokens\":1}}}\n\n", "data: {}\n\n"
	assert.Empty(t, scanned([]byte(start+more), true, false, len(start+more)))
	assert.NotEmpty(t, scanned([]byte(more+start), true, false, len(start+more)))
}
