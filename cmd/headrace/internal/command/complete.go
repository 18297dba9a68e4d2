package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/headrace/headrace/presets"
)

// candidate is a completion of the last word.
type candidate struct{ word, help string }

// complete prints the completions of the last word. Words are the arguments after the program's name; the last one may be empty.
func (p *Program) complete(app *kong.Node, shell string, words []string) {
	if shell == "bash" {
		words = joined(words)
	}
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
		words = words[:len(words)-1]
	}
	for _, c := range candidates(app, words, last) {
		if !strings.HasPrefix(c.word, last) {
			continue
		}
		switch help, _, _ := strings.Cut(c.help, ". "); shell {
		case "bash": // it replaces the text after the last word break
			fmt.Fprintln(p.Stdout, c.word[strings.LastIndexAny(last, "=:")+1:])
		case "zsh":
			fmt.Fprintln(p.Stdout, strings.TrimSuffix(strings.ReplaceAll(c.word, ":", `\:`)+":"+help, ":"))
		default:
			fmt.Fprintln(p.Stdout, strings.TrimSuffix(c.word+"\t"+help, "\t"))
		}
	}
}

// joined rejoins the words that bash splits at = and :.
func joined(words []string) (all []string) {
	glue := false
	for _, word := range words {
		sign := word == "=" || word == ":" || word == "::"
		if n := len(all); n > 0 && (sign || glue) {
			all[n-1] += word
		} else {
			all = append(all, word)
		}
		glue = sign
	}
	return all
}

// typed is what the words before the cursor say.
type typed struct {
	node  *kong.Node            // the command
	known map[string]*kong.Flag // its flags, and those of the commands above it
	given map[string]bool       // those that are there
	at    int                   // positional arguments so far
	open  *kong.Flag            // the last word, if its value comes next; else nil
}

func read(app *kong.Node, words []string) *typed {
	t := &typed{node: app, known: flagsOf(app), given: map[string]bool{}}
	if len(words) > 0 && words[0] == "help" {
		words = words[1:]
	}
	for _, word := range words {
		if t.open != nil { // word is its value
			t.open = nil
			continue
		}
		name, _, valued := strings.Cut(word, "=")
		if flag := t.known[name]; flag != nil {
			t.given[name] = true
			if !valued && !flag.IsBool() {
				t.open = flag
			}
			continue
		}
		child := slices.IndexFunc(t.node.Children, func(n *kong.Node) bool { return n.Name == word })
		if child < 0 {
			t.at++
			continue
		}
		t.node = t.node.Children[child]
		maps.Copy(t.known, flagsOf(t.node))
	}
	return t
}

func candidates(app *kong.Node, words []string, last string) []candidate {
	t := read(app, words)
	if t.open != nil {
		return values(t.open, "")
	}
	if name, _, valued := strings.Cut(last, "="); valued && t.known[name] != nil {
		return values(t.known[name], name+"=")
	}
	if !strings.HasPrefix(last, "-") {
		if t.at < len(t.node.Positional) {
			return choices(t.node.Positional[t.at])
		}
		var all []candidate
		for _, child := range t.node.Children {
			if !child.Hidden {
				all = append(all, candidate{child.Name, child.Help})
			}
		}
		if len(all) > 0 || last != "" {
			return all
		}
	}
	var all []candidate
	for name, flag := range t.known {
		if !flag.Hidden && (!t.given[name] || flag.IsSlice()) {
			all = append(all, candidate{name, flag.Help})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.word, b.word) })
	return all
}

// flagsOf returns the flags of one command, as they are typed.
func flagsOf(n *kong.Node) map[string]*kong.Flag {
	all := map[string]*kong.Flag{}
	for _, flag := range n.Flags {
		all["--"+flag.Name] = flag
	}
	return all
}

// values returns the possible values of a flag.
func values(flag *kong.Flag, before string) (all []candidate) {
	words := map[string][]string{
		"law": {"measured", "aimd", "fixed"}, "format": {"openai", "anthropic"}, "progress": {"auto", "tty", "plain", "json", "off"},
	}[flag.Name]
	switch {
	case flag.IsBool():
		words = []string{"true", "false"}
	case flag.Name == "preset":
		words = ids()
	case flag.Enum != "":
		words = flag.EnumSlice()
	}
	for _, word := range words {
		all = append(all, candidate{word: before + word})
	}
	return all
}

// choices returns the possible values of an argument. There are none if it is a file or free text.
func choices(arg *kong.Positional) (all []candidate) {
	var words []string
	switch {
	case arg.Enum != "":
		words = arg.EnumSlice()
	case arg.Name == "id":
		words = ids()
	case arg.Name == "provider":
		words = presets.Default().Providers()
	}
	for _, word := range words {
		all = append(all, candidate{word: word})
	}
	return all
}

func ids() (all []string) {
	for row := range rows() {
		all = append(all, string(row.ID))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
