package console

import "fmt"

// Mode is how progress is shown. Use flag.TextVar for a flag.
type Mode uint8

// The modes.
const (
	// Auto is TTY on a terminal that can redraw, unless CI is set; otherwise Plain.
	Auto Mode = iota
	// TTY redraws a few lines in place, at most ten times a second.
	TTY
	// Plain prints lines without escape sequences, for logs.
	Plain
	// JSON prints one snapshot a line.
	JSON
	// Off shows nothing.
	Off
)

var modeNames = [...]string{Auto: "auto", TTY: "tty", Plain: "plain", JSON: "json", Off: "off"}

// String returns auto, tty, plain, json or off.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// ModeError reports a text that is not a mode.
type ModeError struct{ Text string }

// Error lists the modes.
func (e *ModeError) Error() string {
	return fmt.Sprintf("console: %q is no mode: use auto, tty, plain, json or off", e.Text)
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) {
	if int(m) >= len(modeNames) {
		return nil, &ModeError{Text: m.String()}
	}
	return []byte(m.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mode) UnmarshalText(text []byte) error {
	for mode, name := range modeNames {
		if string(text) == name {
			*m = Mode(mode)
			return nil
		}
	}
	*m = Auto
	return &ModeError{Text: string(text)}
}
