package command

import (
	"fmt"
	"sort"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help tells how to install the script.
func (*completionCommand) Help() string {
	return `Examples:
  source <(headrace completion bash)
  headrace completion zsh > "${fpath[1]}/_headrace"
  headrace completion fish > ~/.config/fish/completions/headrace.fish`
}

// Run is called by kong.
func (c *completionCommand) Run(k *kong.Kong, p *Program) error {
	if c.Shell == "fish" {
		fmt.Fprint(p.Stdout, fish(k))
		return nil
	}
	if c.Shell == "zsh" {
		fmt.Fprint(p.Stdout, "#compdef headrace\nautoload -U +X bashcompinit && bashcompinit\n")
	}
	fmt.Fprint(p.Stdout, bash(k))
	return nil
}

// leaf is a command, by the words that call it.
type leaf struct {
	path  string
	words []string // commands and flags that may follow
}

func leaves(k *kong.Kong) (all []leaf) {
	var visit func(n *kong.Node, path string, inherited []string)
	visit = func(n *kong.Node, path string, inherited []string) {
		words := append([]string{}, inherited...)
		for _, f := range n.Flags {
			words = append(words, "--"+f.Name)
		}
		l := leaf{path: path, words: append([]string{}, words...)}
		for _, child := range n.Children {
			l.words = append(l.words, child.Name)
			visit(child, strings.TrimSpace(path+" "+child.Name), words)
		}
		sort.Strings(l.words)
		all = append(all, l)
	}
	visit(k.Model.Node, "", nil)
	sort.Slice(all, func(i, j int) bool { return all[i].path < all[j].path })
	return all
}

// values are what may follow a flag.
func values() map[string]string {
	var ids []string
	for row := range rows() {
		ids = append(ids, string(row.ID))
	}
	sort.Strings(ids)
	return map[string]string{
		"--preset": strings.Join(ids, " "), "--law": "measured aimd fixed", "--format": "openai anthropic", "--progress": "auto tty plain json off",
		"--log-level": "debug info warn error", "--log-format": "text json",
	}
}

// bash is the script for bash, and for zsh by way of bashcompinit.
func bash(k *kong.Kong) string {
	b := &strings.Builder{}
	b.WriteString("_headrace() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= word words\n")
	b.WriteString("  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$path $word\" in\n")
	all := leaves(k)
	for _, l := range all {
		if l.path != "" {
			parent, name := "", l.path
			if i := strings.LastIndexByte(l.path, ' '); i >= 0 {
				parent, name = l.path[:i], l.path[i+1:]
			}
			fmt.Fprintf(b, "      '%s %s') path='%s';;\n", parent, name, l.path)
		}
	}
	b.WriteString("    esac\n  done\n  case \"$prev\" in\n")
	flags := values()
	for _, name := range sorted(flags) {
		fmt.Fprintf(b, "    %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return;;\n", name, flags[name])
	}
	b.WriteString("  esac\n  case \"$path\" in\n")
	for _, l := range all {
		fmt.Fprintf(b, "    '%s') words='%s';;\n", l.path, strings.Join(l.words, " "))
	}
	b.WriteString("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n  [[ $cur != -* && ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n")
	b.WriteString("complete -o filenames -F _headrace headrace\n")
	return b.String()
}

// fish is the script for fish.
func fish(k *kong.Kong) string {
	b, flags := &strings.Builder{}, values()
	for _, child := range k.Model.Children {
		fmt.Fprintf(b, "complete -c headrace -n __fish_use_subcommand -a %s -d '%s'\n", child.Name, strings.ReplaceAll(child.Help, "'", ""))
		for _, grandchild := range child.Children {
			fmt.Fprintf(b, "complete -c headrace -n '__fish_seen_subcommand_from %s' -a %s\n", child.Name, grandchild.Name)
		}
		for _, f := range child.Flags {
			fmt.Fprintf(b, "complete -c headrace -n '__fish_seen_subcommand_from %s' -l %s", child.Name, f.Name)
			if v := flags["--"+f.Name]; v != "" {
				fmt.Fprintf(b, " -xa '%s'", v)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func sorted(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
