package command

// Again is the command line that goes on.
func Again(args []string) []string { return again(args) }
