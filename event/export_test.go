package event

import "log/slog"

// DefaultLevel is the level of e without a setting.
func DefaultLevel(e Event) slog.Level { return defaultLevel(e) }
