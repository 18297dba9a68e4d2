package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/headrace/headrace/cmd/headrace/internal/doctor"
	"github.com/headrace/headrace/cmd/headrace/internal/settings"
)

// prefix begins the environment variables: HEADRACE_MAX_WAIT sets --max-wait.
const prefix = "HEADRACE_"

func variable(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// given resolves flags from the environment and from the file of --config.
type given struct {
	getenv func(string) string
	path   string // why the file could not be loaded
	loaded bool
	values map[string]any // of the file

	limits bool // the file holds limits and not flags; the command itself reads it
}

// Validate implements kong.Resolver.
func (g *given) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver. An empty variable counts as unset.
func (g *given) Resolve(k *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if err := g.load(k); err != nil {
		return nil, err
	}
	if own(flag) {
		return nil, nil
	}
	value, from, err := g.value(flag.Name)
	if err == nil && value != nil {
		err = fits(flag, value)
	}
	if err != nil {
		return nil, &settings.Error{Flag: from, Problem: err.Error()}
	}
	return value, nil
}

// own reports whether flag can be given on the command line only.
func own(flag *kong.Flag) bool { return flag.Name == "help" || flag.Name == "config" || flag.Hidden }

// value returns the value of a flag, and its source. The value is nil, a string, a bool or a list of strings.
func (g *given) value(flag string) (value any, from string, err error) {
	from = variable(flag)
	if text := g.getenv(from); text != "" {
		return text, from, nil
	}
	from = g.path + ": " + flag
	switch v := g.values[flag].(type) {
	case map[string]any:
		return nil, from, errors.New("it is a mapping, but has to be a value")
	case []any:
		list := []any{}
		for _, one := range v {
			list = append(list, text(one))
		}
		return list, from, nil
	case nil, bool:
		return v, from, nil
	default:
		return text(v), from, nil
	}
}

// text converts a YAML value to the form it has on the command line.
func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strings.TrimSpace(fmt.Sprint(v))
}

// fits returns an error unless value is possible for the flag.
func fits(flag *kong.Flag, value any) error {
	if _, list := value.([]any); list && !flag.IsSlice() {
		return errors.New("it is a list, but has to be one value")
	}
	target := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: kong.Scan().PushTyped(value, kong.FlagValueToken)}, target); err != nil {
		return errors.New(notBool(settings.Plain(err)))
	}
	if word := fmt.Sprint(target.Interface()); flag.Enum != "" && !flag.EnumMap()[word] {
		return fmt.Errorf("%q is not one of %s", word, strings.Join(flag.EnumSlice(), ", "))
	}
	return nil
}

// load reads the file, once.
func (g *given) load(k *kong.Context) error {
	if g.loaded {
		return nil
	}
	g.loaded = true
	flags := flags(k.Model.Node)
	from := "--config"
	g.path, _ = k.FlagValue(flags["config"]).(string)
	if g.path == "" {
		from = variable("config")
		g.path = g.getenv(from)
	}
	called := called(k)
	if g.limits = called == "serve"; g.path == "" || g.limits {
		return nil // headrace serve reads the file itself
	}
	content, err := os.ReadFile(g.path)
	if err != nil {
		reason := err
		if where := (*fs.PathError)(nil); errors.As(err, &where) {
			reason = where.Err
		}
		return &settings.Error{Flag: from, Problem: fmt.Sprintf("%s cannot be read: %v", g.path, reason)}
	}
	var doc, more any
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	if err = decoder.Decode(&doc); errors.Is(err, io.EOF) { // it is empty
		err = nil
	} else if err == nil && !errors.Is(decoder.Decode(&more), io.EOF) {
		return &settings.Error{Flag: g.path, Problem: "a second YAML document begins after ---: put all flags in one document"}
	}
	lines, ok := doc.(map[string]any)
	if err == nil && doc != nil && !ok {
		err = errors.New("it is not a mapping")
	}
	if g.limits = called == "doctor" && (err != nil || doctor.Configures(lines)); g.limits {
		return nil // headrace doctor reads it, and reports what is wrong with it
	}
	if err != nil {
		return &settings.Error{Flag: g.path, Problem: fmt.Sprintf("it has to be YAML, with lines such as \"rpm: 500\": %v", err)}
	}
	g.values = lines
	for _, name := range slices.Sorted(maps.Keys(g.values)) {
		if flag := flags[name]; flag == nil || own(flag) {
			problem := fmt.Sprintf("%q can be given on the command line only", name)
			if flag == nil {
				problem = fmt.Sprintf("%q is not a flag", name) + meant(likely(name), slices.Collect(maps.Keys(flags)))
			}
			return &settings.Error{Flag: g.path, Problem: problem}
		}
	}
	return nil
}

// called is the name of the command; empty if there is none.
func called(k *kong.Context) string {
	for _, one := range k.Path {
		if one.Command != nil {
			return one.Command.Name
		}
	}
	return ""
}

// likely returns name in the spelling of flags.
func likely(name string) string {
	return strings.TrimLeft(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "-")
}

// flags returns the flags of all commands, by name.
func flags(n *kong.Node) map[string]*kong.Flag {
	all := map[string]*kong.Flag{}
	for _, child := range n.Children {
		maps.Copy(all, flags(child))
	}
	for _, flag := range n.Flags {
		all[flag.Name] = flag
	}
	return all
}
