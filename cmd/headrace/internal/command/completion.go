package command

import (
	"fmt"
	"strings"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help tells how to install the script.
func (*completionCommand) Help() string {
	return `Examples:
  source <(headrace completion bash)
  source <(headrace completion zsh)
  headrace completion zsh > "${fpath[1]}/_headrace"
  headrace completion fish > ~/.config/fish/completions/headrace.fish

The first two are for this shell, or as a line of ~/.bashrc or ~/.zshrc (there behind compinit). The script asks the program that is typed, and so knows all that it knows.`
}

// Run is called by kong.
func (c *completionCommand) Run(p *Program) error {
	_, err := fmt.Fprint(p.Stdout, strings.ReplaceAll(map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell], "COMPLETE", completeWord))
	return err
}

// completeWord has the program complete a command line: its arguments are a shell and the words up to the cursor.
const completeWord = "__complete"

// The scripts complete the names of files where the program has nothing to say.
const (
	bashScript = `_headrace() {
  local IFS=$'\n'
  COMPREPLY=($("$1" COMPLETE bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _headrace headrace
`
	zshScript = `#compdef headrace
_headrace() {
  local -a found
  found=("${(@f)$("${words[1]}" COMPLETE zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    _describe -V headrace found
  else
    _files
  fi
}
if [[ "${funcstack[1]}" = _headrace ]]; then
  _headrace
else
  compdef _headrace headrace
fi
`
	fishScript = `function __headrace_complete
  set -l typed (commandline -opc)
  set -l found ($typed[1] COMPLETE fish $typed[2..] (commandline -ct) 2>/dev/null)
  test (count $found) -gt 0; and printf '%s\n' $found; or __fish_complete_path (commandline -ct)
end

complete -c headrace -f -a '(__headrace_complete)'
`
)
