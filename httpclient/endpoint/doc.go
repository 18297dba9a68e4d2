// Package endpoint calls one operation of a service, such as chat completions: payload in, answer out.
//
//	chat, err := endpoint.New(endpoint.Config{
//		BaseURL: "https://api.openai.com/v1", Path: "/chat/completions",
//		Secret: httpclient.SecretFromEnv("OPENAI_API_KEY"),
//	})
//	if err != nil {
//		return err
//	}
//	defer chat.Close()
//	answer, err := chat.Call(ctx, payload)
//
// A [Config] is written in code or read by [ConfigFromMap]. [NewFunc] makes the same of a function of an SDK.
//
// The guide docs/http.md covers endpoints and the keys of a file.
package endpoint
