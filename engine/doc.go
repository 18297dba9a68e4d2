// Package engine describes a flow to an engine that runs it on many machines:
// its nodes, its edges, the work of its batches and the guards of its calls,
// without type parameters. States, items and results are JSON.
//
// It is for authors of engines. Programs use an engine such as engine/temporal:
// see docs/engines.md.
package engine
