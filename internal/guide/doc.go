// Package guide keeps the README and the guides in docs true.
//
// A block of Go in a guide is a piece of a file that compiles and is tested,
// which the line before the block names:
//
//	<!-- from: examples/streaming/main.go -->
//
// The block may be indented less than the file; a line "..." stands for what was
// left out. A diff is compared as it is after the change. Blocks of other languages are compared if they say where they are
// from. Code that is in no example stands in code_test.go. Links, and the
// programs that a guide says to run, have to be there.
//
// A block of sh is one of commands that run as they are printed. `make try` types
// all blocks of a page into one shell, in a fresh clone. The line before a block
// may have one of these marks:
//
//	<!-- given: export OPENAI_API_KEY=x -->
//	<!-- not run: needs a key -->
//	<!-- output -->
//
// The first provides what a reader has and a clone has not. The last is for the
// block of text behind the commands: its lines stand in what they printed.
package guide
