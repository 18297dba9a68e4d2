package doctor

// service examines the configuration of headrace serve.
func (x *examination) service(keys map[string]any, at *places) {
	_, _ = keys, at
}
