// Package guide holds the test that keeps the guides in docs true. A block of
// Go in a guide is a piece of a file that compiles and is tested, which the line
// before the block names:
//
//	<!-- from: examples/streaming/main.go -->
//
// The block may be indented less than the file; a line "..." stands for what was
// left out. Blocks of other languages are compared if they say where they are
// from. Code that is in no example stands in code_test.go. Links, and the
// programs that a guide says to run, have to be there.
package guide
