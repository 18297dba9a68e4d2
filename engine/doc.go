// Package engine is what an engine that runs flows on many machines needs of a flow: its nodes, its
// edges, the work of its batches and the guards of its calls, without type parameters. The state of a
// flow, items and results are JSON there.
//
// It is for authors of engines. Programs use one of them, such as engine/temporal: see docs/engines.md.
package engine
