package dialect

import "github.com/headrace/headrace/throttle"

// reservedOutput is for providers that reserve the model's maximum if a request sets none. It is a guess, because the request
// does not contain that maximum.
const reservedOutput = 4096

// input is the estimate of the prompt.
func (e *request) input() int64 {
	return bounded((e.chars+charsPerToken-1)/charsPerToken + e.media*mediaTokens)
}

// answers is how many answers were asked for.
func (e *request) answers() int64 { return max(1, e.n) }

// all is the most that may come back, over all answers.
func (e *request) all() int64 {
	if e.output > throttle.MaxAmount/e.answers() {
		return throttle.MaxAmount
	}
	return e.output * e.answers()
}

// chargeSum is for limits that count the prompt and the most that may come back.
func chargeSum(e request) throttle.Cost { return throttle.Cost{Input: e.input(), Output: e.all()} }

// chargeLarger is OpenAI's way: the larger of max_tokens and the estimate of the prompt.
func chargeLarger(e request) throttle.Cost {
	return throttle.Cost{Tokens: max(e.input(), e.output), Input: e.input(), Output: e.all()}
}

// chargeBestOf is Azure's way: the prompt and max_tokens as often as best_of says.
func chargeBestOf(e request) throttle.Cost {
	return throttle.Cost{Tokens: e.input() + e.all(), Input: e.input(), Output: e.all()}
}

// chargeInput is Gemini's way: its limits on tokens count the prompt alone.
func chargeInput(e request) throttle.Cost {
	return throttle.Cost{Tokens: e.input(), Input: e.input(), Output: e.all()}
}

// chargeReserved follows Bedrock: max_tokens is reserved at the start, or the model's maximum if the request sets none.
func chargeReserved(e request) throttle.Cost {
	if e.prompt && e.output == 0 {
		e.output = reservedOutput
	}
	return chargeSum(e)
}

// chargeInputs is Cohere's way: for embeddings the texts are counted, as points.
func chargeInputs(e request) throttle.Cost {
	c := chargeSum(e)
	c.Points = e.inputs
	return c
}

// chargePoints is GitHub's way: a read is one point, a write five.
func chargePoints(e request) throttle.Cost {
	if e.writes {
		return throttle.Cost{Points: 5}
	}
	return throttle.Cost{Points: 1}
}
