package proxy

// NewBase returns the default of Config.Base.
var NewBase = newBase
