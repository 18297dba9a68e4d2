// Package settings is what the flags of a run mean, and what is wrong with them.
package settings

import (
	"os"
	"time"

	"github.com/headrace/headrace/console"
)

// Flags are those of `headrace run`, as they were given on the command line, in the environment
// or in a file.
type Flags struct {
	Requests string `arg:"" help:"The requests: a file of JSON lines, packed by gzip if it ends in .gz, or - for standard input." placeholder:"REQUESTS.jsonl"`

	Out    string `group:"files" placeholder:"FILE" help:"Results go here, or to standard output for -. Default: the requests' name with .results.jsonl."`
	Errors string `group:"files" placeholder:"FILE" help:"Failures go here. Default: the requests' name with .errors.jsonl."`
	Format string `group:"files" placeholder:"NAME" help:"What a line looks like: openai (custom_id, method, url, body) or anthropic (custom_id, params). Default: the preset's provider's, else openai."`

	Journal     string `group:"files" placeholder:"FILE" help:"Remembers what is done, so that running again goes on. Default: the results' name with .journal; none with --out -."`
	Fresh       bool   `group:"files" help:"Begin anew: forget what is done, and overwrite the results."`
	RetryFailed bool   `group:"files" help:"Try requests again that failed in an earlier run."`
	Ordered     bool   `group:"files" help:"Write results in the order of the requests, which may hold some back."`
	Strict      bool   `group:"files" help:"Send nothing if a line is no request; of standard input, stop there."`

	Preset    string   `group:"provider" placeholder:"ID" help:"Where the limits start, such as openai/tier1 (see headrace presets)."`
	BaseURL   string   `group:"provider" name:"base-url" placeholder:"URL" help:"Where the service is, such as http://localhost:8000/v1. Default: the preset's provider."`
	APIKeyEnv string   `group:"provider" name:"api-key-env" placeholder:"NAME" help:"The environment variable with the key. Default: the provider's, such as OPENAI_API_KEY; none for an unknown host."`
	Header    []string `group:"provider" sep:"none" placeholder:"K: V" help:"A header for each request. May be repeated."`

	RPM         int64    `group:"limits" name:"rpm" placeholder:"N" help:"Requests per minute, at most."`
	TPM         int64    `group:"limits" name:"tpm" placeholder:"N" help:"Tokens per minute, at most."`
	Concurrency int      `group:"limits" placeholder:"N" help:"Calls in flight, at most."`
	Limit       []string `group:"limits" sep:"none" placeholder:"TEXT" help:"Any other cap, such as \"50/s\" or \"10k tokens/min, 8 concurrent\". May be repeated."`
	Share       string   `group:"limits" placeholder:"ADDRESS" help:"Share the limits with other runs that use the same key: sqlite:PATH (one host), redis://HOST:PORT/DB or service:https://HOST:PORT (several hosts) if you give the limits or a preset, group:PATH (one host) or group:https://HOST:PORT if they are to be found out."`
	Law         string   `group:"limits" placeholder:"NAME" help:"How the pace is found: measured, aimd or fixed. Default: measured."`

	MaxAttempts int           `group:"failures" default:"3" placeholder:"N" help:"How often a request is sent that fails: a status of 5xx, a broken connection. Default: ${default}."`
	MaxWait     time.Duration `group:"failures" default:"15m" placeholder:"TIME" help:"How long a request may wait that the provider refuses for rate (429). Default: ${default}."`
	MaxFailures *int64        `group:"failures" placeholder:"N" help:"Stop when more than N requests have failed. Default: never, unless the first 20 requests all fail in the same way."`
	Timeout     time.Duration `group:"failures" default:"10m" placeholder:"TIME" help:"How long one call may take. Default: ${default}."`
	Grace       time.Duration `group:"failures" default:"10s" placeholder:"TIME" help:"How long running calls may go on after Ctrl-C. Default: ${default}."`

	DryRun    bool         `group:"display" help:"Send nothing: count requests and tokens, and the time that the limits allow."`
	Progress  console.Mode `group:"display" default:"auto" placeholder:"HOW" help:"How progress is shown: auto, tty, plain, json or off. Default: ${default}."`
	Dashboard string       `group:"display" placeholder:"ADDR" help:"Show the run on a live page at this address, such as 127.0.0.1:8788. It pauses and limits the run with the token in HEADRACE_TOKEN."`
	Report    string       `group:"display" placeholder:"FILE" help:"Write a report of the run as JSON."`
	LogLevel  string       `group:"display" default:"warn" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"What is logged to standard error: debug, info, warn or error. Default: ${default}."`
	LogFormat string       `group:"display" default:"text" enum:"text,json" placeholder:"HOW" help:"How it is logged: text or json. Default: ${default}."`

	ConfigFile    string      `kong:"-"` // that the flags were in
	Stdin, Stdout os.FileInfo `kong:"-"` // nil: not files
}
