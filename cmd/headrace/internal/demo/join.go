package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Joined counts the results after they are joined with the requests by custom_id.
type Joined struct {
	Own     int // requests with exactly one answer, which is right
	Twice   int // requests with more than one answer
	Foreign int // answers that belong to another request, or to none
	Lost    int // requests without an answer
}

// OK reports whether each request has exactly one answer, and the right one.
func (j Joined) OK() bool { return j.Twice == 0 && j.Foreign == 0 && j.Lost == 0 }

// Join reads lines of results, and compares them with the expected answers.
func Join(results io.Reader, answers map[string]string) (j Joined, err error) {
	seen := map[string]bool{}
	for lines := json.NewDecoder(results); ; {
		var line struct {
			ID       string `json:"custom_id"`
			Response struct {
				Body struct {
					Choices []struct {
						Message struct {
							Content string `json:"content"`
						} `json:"message"`
					} `json:"choices"`
				} `json:"body"`
			} `json:"response"`
		}
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return j, fmt.Errorf("the results cannot be read: %w", err)
		}
		due, asked := answers[line.ID]
		choices := line.Response.Body.Choices
		switch {
		case !asked, len(choices) != 1, choices[0].Message.Content != due:
			j.Foreign++
		case seen[line.ID]:
			j.Twice++
		default:
			j.Own++
		}
		if asked {
			seen[line.ID] = true
		}
	}
	j.Lost = len(answers) - len(seen)
	return j, nil
}
