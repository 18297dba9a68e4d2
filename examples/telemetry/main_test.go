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
var varies = regexp.MustCompile(`(server\.port=|127\.0\.0\.1:)\d+|( s +\d+ +)\d+\.\d+|((?:response\.body\.size|token\.usage) +\S+ +\d+ +)\d+`)

// One tree: flow, node, item, attempt, model call, request.
const wantTree = `flow interview
  ! headrace.flow.step
  ! headrace.flow.step
  node ask
    item ask headrace.item.index=0 headrace.item.outcome=done
      attempt ask headrace.item.index=0
        chat gpt-4o-mini gen_ai.response.model=gpt-4o-mini
          HTTP POST http.response.status_code=200
    item ask headrace.item.index=1 headrace.item.outcome=done
      attempt ask headrace.item.index=1
        chat gpt-4o-mini gen_ai.response.model=gpt-4o-mini
          HTTP POST http.response.status_code=200
    item ask headrace.item.index=2 headrace.item.outcome=done
      attempt ask headrace.item.index=2
        chat gpt-4o-mini gen_ai.response.model=gpt-4o-mini
          ! headrace.limiter.hit
          HTTP POST http.response.status_code=429 error.type=429
          HTTP POST http.response.status_code=200
    item ask headrace.item.index=3 headrace.item.outcome=done
      attempt ask headrace.item.index=3
        chat gpt-4o-mini gen_ai.response.model=gpt-4o-mini
          HTTP POST http.response.status_code=200
    item ask headrace.item.index=4 headrace.item.outcome=done
      attempt ask headrace.item.index=4
        chat gpt-4o-mini gen_ai.response.model=gpt-4o-mini
          HTTP POST http.response.status_code=200
    item ask headrace.item.index=5 headrace.item.outcome=done
      attempt ask headrace.item.index=5
        chat gpt-4o-mini gen_ai.response.model=gpt-4o-mini
          HTTP POST http.response.status_code=200
  node count
    attempt count
`

func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out))
	tree, table, _ := strings.Cut(out.String(), "\n\n")
	assert.Equal(t, wantTree, tree+"\n")

	const (
		server = " server.address=127.0.0.1 server.port=N"
		ok     = " headrace.service=openai http.request.method=POST http.response.status_code=200 network.protocol.version=1.1" + server
		model  = " gen_ai.operation.name=chat gen_ai.provider.name=_OTHER gen_ai.request.model=gpt-4o-mini gen_ai.response.model=gpt-4o-mini"
		by     = " headrace.limiter.name=127.0.0.1:N"
		wire   = "network.protocol.name=http network.protocol.version=1.1" + server + " url.scheme=http"
	)
	var got []string
	for line := range strings.Lines(varies.ReplaceAllString(table, "${1}${2}${3}N")) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	assert.ElementsMatch(t, []string{
		"INSTRUMENT UNIT COUNT SUM ATTRIBUTES",
		"headrace.http.client.duration s 6 N" + ok,
		"headrace.http.client.first_byte s 6 N" + ok,
		"headrace.http.client.request.body.size By 6 504" + ok,
		"headrace.http.client.response.body.size By 6 N" + ok,
		"headrace.http.client.wait s 6 N" + ok,
		"headrace.http.client.attempts {attempt} 6 7" + ok,
		"headrace.limiter.hits {hit} 1 headrace.limiter.hit.kind=requests" + by,
		"headrace.limiter.wait s 6 N" + by + " headrace.limiter.outcome=ok",
		"headrace.limiter.wait s 1 N" + by + " headrace.limiter.outcome=hit",
		"headrace.limiter.call.duration s 6 N" + by + " headrace.limiter.outcome=ok",
		"headrace.limiter.call.duration s 1 N" + by + " headrace.limiter.outcome=hit",
		"headrace.flow.duration s 1 N headrace.flow.name=interview",
		"headrace.node.duration s 1 N headrace.node.name=ask",
		"headrace.node.duration s 1 N headrace.node.name=count",
		"headrace.node.item.duration s 6 N headrace.item.outcome=done headrace.node.name=ask",
		"headrace.node.items {item} 6 headrace.item.outcome=done headrace.node.name=ask",
		"gen_ai.client.operation.duration s 6 N" + model + server,
		"gen_ai.client.token.usage {token} 6 N" + model + " gen_ai.token.type=input" + server,
		"gen_ai.client.token.usage {token} 6 N" + model + " gen_ai.token.type=output" + server,
		"http.client.request.duration s 6 N http.request.method=POST http.response.status_code=200 " + wire,
		"http.client.request.duration s 1 N http.request.method=POST http.response.status_code=429 " + wire,
		"http.client.request.body.size By 6 504 http.request.method=POST http.response.status_code=200 " + wire,
		"http.client.request.body.size By 1 84 http.request.method=POST http.response.status_code=429 " + wire,
	}, got)
}
