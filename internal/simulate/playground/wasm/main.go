//go:build js && wasm

// Command wasm is what the worker of the page in docs/playground runs. It sets
// the global headrace, an object with three functions. Each takes and returns
// JSON as a string:
//
//   - controllers() returns a list of [playground.Controller].
//   - start(request) ends the run before it, if any, and returns the
//     [playground.Plan] of the new one as plan, or the problems of the request
//     as problems.
//   - next(steps) returns the next [playground.Slice] as slice.
//
// Any other failure is returned as error, a text.
package main

import (
	"encoding/json"
	"errors"
	"syscall/js"

	"github.com/headrace/headrace/internal/simulate/playground"
)

func main() {
	var run *playground.Run
	js.Global().Set("headrace", map[string]any{
		"controllers": function(func([]js.Value) any { return playground.Controllers() }),
		"start": function(func(args []js.Value) any {
			if run != nil {
				run.Close()
				run = nil
			}
			var r playground.Request
			if err := json.Unmarshal([]byte(args[0].String()), &r); err != nil {
				return failure{err.Error()}
			}
			started, err := playground.Start(r)
			if wrong := (*playground.RequestError)(nil); errors.As(err, &wrong) {
				return map[string]any{"problems": wrong.Problems}
			}
			if err != nil {
				return failure{err.Error()}
			}
			run = started
			return map[string]any{"plan": run.Plan()}
		}),
		"next": function(func(args []js.Value) any {
			if run == nil {
				return failure{"no run was started"}
			}
			slice, err := run.Next(args[0].Int())
			if err != nil {
				return failure{err.Error()}
			}
			return map[string]any{"slice": slice}
		}),
	})
	select {} // until the worker is ended
}

type failure struct {
	Error string `json:"error"`
}

// function makes f callable from JavaScript.
func function(f func(args []js.Value) any) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		data, err := json.Marshal(f(args))
		if err != nil {
			data, _ = json.Marshal(failure{err.Error()}) // a text is always valid
		}
		return string(data)
	})
}
