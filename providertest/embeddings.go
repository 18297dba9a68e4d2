package providertest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// embeddingsRoute is OpenAI's embeddings.
func embeddingsRoute() route {
	return route{path: "/v1/embeddings", parse: parseEmbeddings, answer: embeddingsAnswer}
}

// Bounds of a request for embeddings.
const (
	defaultDimensions = 16   // small, since the values do not matter
	mostDimensions    = 3072 // of OpenAI's largest
	mostInputs        = 2048
)

// embeddingsRequest is what the route reads of a request; it ignores all else.
type embeddingsRequest struct {
	Model      string          `json:"model"`
	Input      embeddingInputs `json:"input"`
	Dimensions *int            `json:"dimensions"`
	Format     string          `json:"encoding_format"`
}

// embeddingInputs is a text or a list of texts.
type embeddingInputs []string

// UnmarshalJSON does not take lists of token numbers.
func (i *embeddingInputs) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if string(data) != "null" {
			*i = embeddingInputs{text}
		}
		return nil
	}
	var texts []string
	if json.Unmarshal(data, &texts) != nil {
		return errors.New("input must be a string or a list of strings")
	}
	*i = texts
	return nil
}

func parseEmbeddings(body []byte, req *Request) *failure {
	var in embeddingsRequest
	if bad := decode(body, &in); bad != nil {
		return bad
	}
	req.dimensions = defaultDimensions
	if in.Dimensions != nil {
		req.dimensions = *in.Dimensions
	}
	switch {
	case in.Model == "":
		return invalid("model", "You must provide a model parameter.")
	case len(in.Input) == 0 || len(in.Input) > mostInputs:
		return invalid("input", fmt.Sprintf("You must provide from 1 to %d inputs.", mostInputs))
	case req.dimensions < 1 || req.dimensions > mostDimensions:
		return invalid("dimensions", fmt.Sprintf("dimensions must be from 1 to %d.", mostDimensions))
	case in.Format != "" && in.Format != "float" && in.Format != "base64":
		return invalid("encoding_format", "encoding_format must be float or base64.")
	}
	req.Model, req.base64 = in.Model, in.Format == "base64"
	for _, text := range in.Input {
		req.Messages = append(req.Messages, Message{Role: "input", Content: text})
		req.PromptTokens += textTokens(text)
	}
	return nil
}

func embeddingsAnswer(r reply) any {
	type item struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	data := make([]item, len(r.req.Messages))
	for i, m := range r.req.Messages {
		data[i] = item{Object: "embedding", Index: i}
		vector := embed(m.Content, r.req.dimensions)
		if data[i].Embedding = vector; r.req.base64 {
			data[i].Embedding = littleEndian(vector)
		}
	}
	return map[string]any{
		"object": "list", "data": data, "model": r.req.Model,
		"usage": map[string]int{"prompt_tokens": r.req.PromptTokens, "total_tokens": r.req.PromptTokens},
	}
}

// embed returns a vector of length 1 that is always the same for a text.
func embed(text string, dimensions int) []float32 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 0)) //nolint:gosec // a simulation, no secret
	vector, square := make([]float32, dimensions), 0.0
	for i := range vector {
		x := random.NormFloat64()
		vector[i], square = float32(x), square+x*x
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(square))
	}
	return vector
}

// littleEndian encodes a vector as base64 of its bytes.
func littleEndian(vector []float32) string {
	data := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
