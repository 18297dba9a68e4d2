//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package group

import (
	"context"
	"errors"
)

func supported() error { return errors.New("groups need file locks, which this system lacks") }

// reign is never begun here.
type reign struct{}

func begin(string) (*reign, error) { return nil, supported() }

func (*reign) close() {}

func (*reign) over() bool { return true }

func dial(context.Context, string, bool) (*link, int, error) { return nil, 0, supported() }

func usurp(context.Context, string) error { return supported() }
