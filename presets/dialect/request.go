package dialect

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/headrace/headrace/internal/jsonwalk"
)

const (
	charsPerToken = 4    // of English, by the rule of thumb of OpenAI and Anthropic
	mediaTokens   = 1000 // of an image of unknown size: about that of a megapixel
)

// request is what a request says about its cost.
type request struct {
	writes bool  // by its method
	images bool  // by its path: it is to make some
	chars  int64 // bytes of UTF-8 in the texts for the model, which for English are characters
	media  int64 // images and other files
	inputs int64 // texts of an embedding call
	output int64 // the most tokens that may come back; 0: not limited
	n      int64 // answers, best_of among them
	prompt bool  // it asks for text, not for vectors
}

// newRequest reads a body of JSON; another kind says nothing. r may be nil.
func newRequest(r *http.Request, body []byte) (e request) {
	if r != nil {
		e.writes = r.Method != "" && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
		e.images = r.URL != nil && strings.Contains(r.URL.Path, "/images/")
	}
	if len(body) > 0 && body[0] != '{' {
		body = bytes.TrimLeft(body, "\ufeff")
	}
	s := scanner{jsonwalk.At(body)}
	if s.Peek() == '{' {
		e.members(&s, 0)
	}
	return e
}

func (e *request) members(s *scanner, depth int) {
	for s.Open(); s.Next('}'); {
		switch key := s.Key(); string(key) {
		case "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "max_tokens_to_sample",
			"maxOutputTokens", "maxTokens", "maxTokenCount":
			e.output = max(e.output, s.amount())
		case "n", "best_of", "candidateCount":
			e.n = max(e.n, s.amount())
		case "generationConfig", "generation_config", "inferenceConfig", "textGenerationConfig", "parameters":
			if s.Peek() == '{' && depth < mostDepth {
				e.members(s, depth+1)
				continue
			}
			s.Skip()
		case "messages", "contents", "prompt", "message":
			e.prompt = true
			e.text(s, 0)
		case "input", "inputs", "texts", "requests":
			e.inputs = max(e.inputs, e.batch(s))
		case "system", "systemInstruction", "system_instruction", "instructions", "tools", "functions", "chat_history",
			"preamble", "documents", "query", "passages", "content", "text", "inputText", "response_format", "toolConfig":
			e.text(s, 0)
		default:
			s.Skip()
		}
	}
}

// batch takes texts that are worked on each by itself, and counts them.
func (e *request) batch(s *scanner) (n int64) {
	if s.Peek() != '[' {
		e.text(s, 0)
		return 1
	}
	for s.Open(); s.Next(']'); {
		n++
		e.text(s, 1)
	}
	return n
}

// text takes a value and counts what in it is for the model: the strings, but
// for those that only say what the others are, and the numbers of a list,
// which are tokens.
func (e *request) text(s *scanner, depth int) {
	switch c := s.Peek(); {
	case depth > mostText:
		s.Skip()
	case c == '"':
		e.say(s.Text())
	case c == '[':
		for s.Open(); s.Next(']'); {
			e.text(s, depth+1)
		}
	case c == '{':
		for s.Open(); s.Next('}'); {
			switch string(s.Key()) {
			case "role", "type", "id", "name", "model", "tool_call_id", "call_id", "tool_use_id", "cache_control", "detail",
				"media_type", "mimeType", "mime_type", "format":
				s.Skip()
			case "image_url", "file_id", "fileUri", "image_base64":
				e.media++
				s.Skip()
			case "data", "bytes":
				e.data(s, depth+1)
			default:
				e.text(s, depth+1)
			}
		}
	case depth > 0 && (c == '-' || c >= '0' && c <= '9'):
		s.Skip()
		e.chars += charsPerToken
	default:
		s.Skip()
	}
}

// data takes what may be a file in base64 or a text.
func (e *request) data(s *scanner, depth int) {
	if s.Peek() != '"' {
		e.text(s, depth)
		return
	}
	t := s.Text()
	if len(t) >= leastFile && !bytes.ContainsRune(t[:leastFile], ' ') {
		e.media++
		return
	}
	e.say(t)
}

// leastFile is how long a text without a space is that is taken for a file.
const leastFile = 128

// mostText is how deep the text of a request is followed.
const mostText = 64

func (e *request) say(text []byte) {
	if bytes.HasPrefix(text, []byte("data:")) && bytes.Contains(text[:min(len(text), 128)], []byte(";base64,")) {
		e.media++
		return
	}
	e.chars += unescapedLen(text)
}

// unescapedLen returns the number of bytes of UTF-8 that a JSON string decodes to.
func unescapedLen(b []byte) (n int64) {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return n + int64(len(b))
		}
		n += int64(i)
		if b[i+1] != 'u' || len(b) < i+6 {
			n++
			b = b[i+2:]
			continue
		}
		switch hex := strings.ToLower(string(b[i+2 : i+6])); {
		case hex < "0080":
			n++
		case hex < "0800", hex >= "d800" && hex < "e000": // half of a pair, which makes four
			n += 2
		default:
			n += 3
		}
		b = b[i+6:]
	}
}
