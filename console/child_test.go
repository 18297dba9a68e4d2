//go:build !unix

package console

const childVariable = "CONSOLE_TEST_CHILD"

func child() {}
