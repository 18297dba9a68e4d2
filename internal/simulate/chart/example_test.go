package chart_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/simulate/chart"
	"github.com/headrace/headrace/internal/simulate/rival"
	"github.com/headrace/headrace/internal/simulate/scenario"
)

func ExampleFilm_SVG() {
	halved := scenario.Twelve()[6]
	film, err := chart.Record(&halved, rival.All()[0], 1, time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	var picture bytes.Buffer
	err = film.SVG(&picture)
	fmt.Println(film.Title)
	fmt.Println(film.Rate[0].Limit, film.Rate[1].Limit, bytes.HasPrefix(picture.Bytes(), []byte("<svg ")), err)
	// Output:
	// 600/min burst 10, halved after 5 minutes, doubled after 10
	// 10 5 true <nil>
}
