package endpoint

// FuncError is the error of a function endpoint, by name.
type FuncError = funcError
