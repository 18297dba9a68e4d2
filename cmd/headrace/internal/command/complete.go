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

func candidates(app *kong.Node, words []string, last string) []candidate {
	node, known, given := app, flagsOf(app), map[string]bool{}
	if len(words) > 0 && words[0] == "help" {
		words = words[1:]
	}
	at := 0 // positional arguments so far
	for i := 0; i < len(words); i++ {
		name, _, valued := strings.Cut(words[i], "=")
		if flag := known[name]; flag != nil {
			given[name] = true
			if !valued && !flag.IsBool() {
				if i++; i == len(words) {
					return values(flag, "")
				}
			}
			continue
		}
		child := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == words[i] })
		if child < 0 {
			at++
			continue
		}
		node = node.Children[child]
		maps.Copy(known, flagsOf(node))
	}
	if name, _, valued := strings.Cut(last, "="); valued && known[name] != nil {
		return values(known[name], name+"=")
	}
	if !strings.HasPrefix(last, "-") {
		var all []candidate
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, candidate{child.Name, child.Help})
			}
		}
		if at < len(node.Positional) {
			return choices(node.Positional[at])
		}
		if len(all) > 0 || last != "" {
			return all
		}
	}
	var all []candidate
	for name, flag := range known {
		if !flag.Hidden && (!given[name] || flag.IsSlice()) {
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
