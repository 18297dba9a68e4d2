// Package settings turns the flags of a run into its settings, and reports invalid flags.
package settings

import (
	"os"
	"time"

	"github.com/headrace/headrace/console"
)

// Flags are the flags of `headrace run`, as given on the command line, in the environment
// or in a file.
type Flags struct {
	Requests string `arg:"" help:"The requests: a file of JSON lines, compressed with gzip if its name ends in .gz, or - for standard input." placeholder:"REQUESTS.jsonl"`

	Out    string `group:"files" placeholder:"FILE" help:"File for results, or - for standard output. Default: the requests' name with .results.jsonl."`
	Errors string `group:"files" placeholder:"FILE" help:"File for failures. Default: the requests' name with .errors.jsonl."`
	Format string `group:"files" placeholder:"NAME" help:"Format of the lines: openai (custom_id, method, url, body) or anthropic (custom_id, params). Default: that of the preset's provider, else openai."`

	Journal     string `group:"files" placeholder:"FILE" help:"File that records what is done, so that the run can be resumed. Default: the results' name with .journal; none with --out -."`
	Fresh       bool   `group:"files" help:"Start over: forget what is done, and overwrite the results."`
	RetryFailed bool   `group:"files" help:"Retry requests that failed in an earlier run."`
	Ordered     bool   `group:"files" help:"Write results in the order of the requests, which delays some of them."`
	Strict      bool   `group:"files" help:"Send nothing if any line is not a valid request. On standard input, stop at that line."`

	Preset    string   `group:"provider" placeholder:"ID" help:"Start from the limits of this preset, such as openai/tier1 (see headrace presets)."`
	BaseURL   string   `group:"provider" name:"base-url" placeholder:"URL" help:"Base URL of the service, such as http://localhost:8000/v1. Default: that of the preset's provider."`
	APIKeyEnv string   `group:"provider" name:"api-key-env" placeholder:"NAME" help:"Environment variable that holds the key. Default: that of the provider, such as OPENAI_API_KEY; none for an unknown host."`
	Header    []string `group:"provider" sep:"none" placeholder:"K: V" help:"Header to send with each request. May be repeated."`

	RPM         *int64   `group:"limits" name:"rpm" placeholder:"N" help:"Maximum requests per minute, at least 1. Default: none."`
	TPM         *int64   `group:"limits" name:"tpm" placeholder:"N" help:"Maximum tokens per minute, at least 1. Default: none."`
	Concurrency *int     `group:"limits" placeholder:"N" help:"Maximum calls in flight, at least 1. Default: 200; with a preset, what its rate needs."`
	Limit       []string `group:"limits" sep:"none" placeholder:"TEXT" help:"Any other limit, such as \"50/s\" or \"10k tokens/min, 8 concurrent\". May be repeated."`
	Share       string   `group:"limits" placeholder:"ADDRESS" help:"Share the limits with other runs that use the same key. With known limits or a preset: sqlite:PATH (one host), redis://HOST:PORT/DB or service:https://HOST:PORT (several hosts). If the limits have to be found: group:PATH (one host) or group:https://HOST:PORT."`
	Law         string   `group:"limits" placeholder:"NAME" help:"How the rate is found: measured, aimd or fixed. Default: measured."`

	MaxAttempts int           `group:"failures" default:"3" placeholder:"N" help:"Attempts for a request that fails with a 5xx status or a broken connection. Default: ${default}."`
	MaxWait     time.Duration `group:"failures" default:"15m" placeholder:"TIME" help:"Maximum time that a request may wait: for limits, after a 429, and before retries. Default: ${default}."`
	MaxFailures *int64        `group:"failures" placeholder:"N" help:"Stop when more than N requests have failed. Default: never, unless the first 20 requests all fail in the same way."`
	Timeout     time.Duration `group:"failures" default:"10m" placeholder:"TIME" help:"Maximum duration of one call. Default: ${default}."`
	Grace       time.Duration `group:"failures" default:"10s" placeholder:"TIME" help:"Time that calls in flight have after Ctrl-C. Default: ${default}."`

	DryRun    bool         `group:"display" help:"Send nothing: count requests and tokens, and estimate the time that the limits require."`
	Progress  console.Mode `group:"display" default:"auto" placeholder:"HOW" help:"How progress is shown: auto, tty, plain, json or off. Default: ${default}."`
	Dashboard string       `group:"display" placeholder:"ADDR" help:"Serve a dashboard of the run at this address, such as 127.0.0.1:8788. With the token in HEADRACE_TOKEN, it can pause and limit the run."`
	Report    string       `group:"display" placeholder:"FILE" help:"Write a report of the run as JSON."`
	LogLevel  string       `group:"display" default:"warn" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Log level on standard error: debug, info, warn or error. Default: ${default}."`
	LogFormat string       `group:"display" default:"text" enum:"text,json" placeholder:"HOW" help:"Log format: text or json. Default: ${default}."`

	ConfigFile    string      `kong:"-"` // the file that the flags were in
	Stdin, Stdout os.FileInfo `kong:"-"` // nil if standard input or output is not a file
}
