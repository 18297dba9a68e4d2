//go:build !unix

package group_test

func wasMember() bool { return false }
