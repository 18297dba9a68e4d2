package console

import (
	"flag"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headrace/headrace/fault"
)

func TestModeText(t *testing.T) {
	for m := Auto; m <= Off; m++ {
		var back Mode
		err := back.UnmarshalText([]byte(m.String()))
		require.NoError(t, err)
		require.Equal(t, m, back)
		text, err := m.MarshalText()
		require.NoError(t, err)
		require.Equal(t, m.String(), string(text))
	}
	err := new(Mode).UnmarshalText([]byte("loud"))
	require.EqualError(t, err, `console: "loud" is no mode: use auto, tty, plain, json or off`)
	require.ErrorAs(t, err, new(*ModeError))
	_, err = Mode(9).MarshalText()
	require.ErrorAs(t, err, new(*ModeError))

	var m Mode
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&m, "progress", Auto, "")
	require.NoError(t, flags.Parse([]string{"-progress", "json"}))
	require.Equal(t, JSON, m)
	require.Error(t, flags.Parse([]string{"-progress", "loud"}))
}

func TestWhatTheEnvironmentAsksFor(t *testing.T) {
	const utf8 = "C.UTF-8"
	for _, c := range []struct {
		name   string
		env    map[string]string
		pipe   bool
		mode   Mode
		colour bool
		ascii  bool
	}{
		{name: "a terminal", env: map[string]string{"TERM": "xterm", "LANG": utf8}, mode: TTY, colour: true},
		{name: "a pipe", env: map[string]string{"TERM": "xterm", "LANG": utf8}, pipe: true, mode: Plain},
		{name: "no TERM", env: map[string]string{"LANG": utf8}, mode: Plain},
		{name: "dumb", env: map[string]string{"TERM": "dumb", "LANG": utf8}, mode: Plain},
		{name: "CI", env: map[string]string{"TERM": "xterm", "CI": "true", "LANG": utf8}, mode: Plain, colour: true},
		{name: "CI=1", env: map[string]string{"TERM": "xterm", "CI": "1", "LANG": utf8}, mode: Plain, colour: true},
		{name: "CI=false", env: map[string]string{"TERM": "xterm", "CI": "false", "LANG": utf8}, mode: TTY, colour: true},
		{name: "NO_COLOR", env: map[string]string{"TERM": "xterm", "NO_COLOR": "1", "LANG": utf8}, mode: TTY},
		{name: "NO_COLOR empty", env: map[string]string{"TERM": "xterm", "NO_COLOR": "", "LANG": utf8}, mode: TTY, colour: true},
		{name: "NO_COLOR wins", env: map[string]string{"TERM": "xterm", "NO_COLOR": "0", "FORCE_COLOR": "1", "LANG": utf8}, mode: TTY},
		{name: "CLICOLOR=0", env: map[string]string{"TERM": "xterm", "CLICOLOR": "0", "LANG": utf8}, mode: TTY},
		{name: "CLICOLOR_FORCE", env: map[string]string{"CLICOLOR_FORCE": "1", "CLICOLOR": "0", "LANG": utf8}, pipe: true, mode: Plain, colour: true},
		{name: "CLICOLOR_FORCE=0", env: map[string]string{"CLICOLOR_FORCE": "0", "LANG": utf8}, pipe: true, mode: Plain},
		{name: "FORCE_COLOR", env: map[string]string{"FORCE_COLOR": "3", "LANG": utf8}, pipe: true, mode: Plain, colour: true},
		{name: "FORCE_COLOR=0", env: map[string]string{"TERM": "xterm", "FORCE_COLOR": "0", "LANG": utf8}, mode: TTY},
		{name: "no locale", env: map[string]string{"TERM": "xterm"}, mode: TTY, colour: true, ascii: true},
		{name: "LC_ALL wins", env: map[string]string{"TERM": "xterm", "LANG": utf8, "LC_ALL": "C"}, mode: TTY, colour: true, ascii: true},
		{name: "LC_CTYPE", env: map[string]string{"TERM": "xterm", "LC_CTYPE": "en_US.utf8"}, mode: TTY, colour: true},
		{name: "East Asia", env: map[string]string{"TERM": "xterm", "LANG": "ja_JP.UTF-8"}, mode: TTY, colour: true, ascii: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := environment{env(c.env)}
			assert.Equal(t, c.mode, e.mode(!c.pipe, false))
			assert.Equal(t, c.colour, e.colour(!c.pipe, false))
			assert.Equal(t, c.ascii, e.ascii(false))
		})
	}
	bare := environment{env(nil)}
	assert.Equal(t, TTY, bare.mode(true, true), "Windows has no TERM")
	assert.False(t, bare.ascii(true))
}

func TestBadConfig(t *testing.T) {
	d, err := New(Config{Output: io.Discard, Mode: 7, Interval: -time.Second})
	require.Nil(t, d)
	require.ErrorAs(t, err, new(*fault.FieldError))
	for _, field := range []string{"Mode", "Interval"} {
		require.ErrorContains(t, err, field)
	}
}
