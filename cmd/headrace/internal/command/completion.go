package command

import (
	"fmt"
	"strings"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help describes how to install the script.
func (*completionCommand) Help() string {
	return `Examples:
  source <(headrace completion bash)
  source <(headrace completion zsh)
  headrace completion zsh > "${fpath[1]}/_headrace"
  headrace completion fish > ~/.config/fish/completions/headrace.fish

Run one of the first two in the current shell, or add it to ~/.bashrc or to ~/.zshrc (after compinit). The script gets its completions from the installed program, so it never goes out of date.`
}

// Run is called by kong.
func (c *completionCommand) Run(p *Program) error {
	_, err := fmt.Fprint(p.Stdout, strings.ReplaceAll(map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell], "COMPLETE", completeWord))
	return err
}

// completeWord is the first argument with which a script asks for completions. The name of the shell and the words up to the cursor follow.
const completeWord = "__complete"

// The scripts complete file names where the program returns no completions.
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
