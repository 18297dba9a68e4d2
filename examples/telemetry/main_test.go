package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The port, what was timed and how much the provider says are not ours to know.
var varies = regexp.MustCompile(`(server\.port=|127\.0\.0\.1:)\d+|( s +\d+ +)\d+\.\d+|(response\.body\.size +By +\d+ +)\d+`)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	const ok = " headrace.service=openai http.request.method=POST http.response.status_code=200 network.protocol.version=1.1 server.address=127.0.0.1 server.port=N"
	var got []string
	for line := range strings.Lines(varies.ReplaceAllString(out.String(), "${1}${2}${3}N")) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	assert.ElementsMatch(t, []string{
		"INSTRUMENT UNIT COUNT SUM ATTRIBUTES",
		"headrace.http.client.duration s 50 N" + ok,
		"headrace.http.client.first_byte s 50 N" + ok,
		"headrace.http.client.request.body.size By 50 4200" + ok,
		"headrace.http.client.response.body.size By 50 N" + ok,
		"headrace.http.client.wait s 50 N" + ok,
		"headrace.http.client.attempts {attempt} 50 52" + ok,
		"headrace.limiter.hits {hit} 2 headrace.limiter.name=127.0.0.1:N",
	}, got)
}
