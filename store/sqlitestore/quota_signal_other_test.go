//go:build !unix

package sqlitestore_test

import "testing"

func lockTurn(*testing.T, string) (release func()) { return func() {} }

func (m *member) stop() {}
func (m *member) goOn() {}

func findLock(string) error { return nil }

func openWithoutDescriptors(string) error { return nil }
