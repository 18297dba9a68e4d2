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

// prefix is that of the environment variables: HEADRACE_MAX_WAIT is --max-wait.
const prefix = "HEADRACE_"

func variable(flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// given is what flags are beside the command line: environment variables, and the file of --config.
type given struct {
	getenv func(string) string
	path   string // of the file, once it is loaded
	loaded bool
	values map[string]any // of the file

	limits bool // the file is no file of flags, but has limits, which the command reads
}

// Validate implements kong.Resolver.
func (g *given) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver. An empty variable is none.
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

// own reports whether flag can be on the command line only.
func own(flag *kong.Flag) bool { return flag.Name == "help" || flag.Name == "config" || flag.Hidden }

// value is what is given for a flag, and where. It is nil, a string, a bool or a list of strings.
func (g *given) value(flag string) (value any, from string, err error) {
	from = variable(flag)
	if text := g.getenv(from); text != "" {
		return text, from, nil
	}
	from = g.path + ": " + flag
	switch v := g.values[flag].(type) {
	case map[string]any:
		return nil, from, errors.New("it is a mapping, and a value is wanted")
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

// text is a value of YAML as the command line has it.
func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strings.TrimSpace(fmt.Sprint(v))
}

// fits looks whether value can be that of the flag.
func fits(flag *kong.Flag, value any) error {
	if _, list := value.([]any); list && !flag.IsSlice() {
		return errors.New("it is a list, and one value is wanted")
	}
	target := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: kong.Scan().PushTyped(value, kong.FlagValueToken)}, target); err != nil {
		return errors.New(settings.Plain(err))
	}
	if word := fmt.Sprint(target.Interface()); flag.Enum != "" && !flag.EnumMap()[word] {
		return fmt.Errorf("%q is none of them: %s", word, strings.Join(flag.EnumSlice(), ", "))
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
		return nil // serve reads the file by itself
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
		return &settings.Error{Flag: g.path, Problem: "a second YAML document begins after ---: put all flags into one"}
	}
	lines, ok := doc.(map[string]any)
	if err == nil && doc != nil && !ok {
		err = errors.New("it is something else")
	}
	if g.limits = called == "doctor" && (err != nil || doctor.Configures(lines)); g.limits {
		return nil // the doctor reads it, and says what is wrong with it
	}
	if err != nil {
		return &settings.Error{Flag: g.path, Problem: fmt.Sprintf("it has to be YAML with lines such as \"rpm: 500\": %v", err)}
	}
	g.values = lines
	for _, name := range slices.Sorted(maps.Keys(g.values)) {
		if flag := flags[name]; flag == nil || own(flag) {
			problem := fmt.Sprintf("%q can be on the command line only", name)
			if flag == nil {
				problem = fmt.Sprintf("%q is no flag", name) + meant(likely(name), slices.Collect(maps.Keys(flags)))
			}
			return &settings.Error{Flag: g.path, Problem: problem}
		}
	}
	return nil
}

// called is the name of the command; empty: there is none.
func called(k *kong.Context) string {
	for _, one := range k.Path {
		if one.Command != nil {
			return one.Command.Name
		}
	}
	return ""
}

// likely is name as flags are written.
func likely(name string) string {
	return strings.TrimLeft(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "-")
}

// flags are those of all commands, by their names.
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
