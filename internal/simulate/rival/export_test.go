package rival

import "time"

// Window is a window under test.
type Window struct{ w window }

func (w Window) Most() int { return w.w.most() }

func (w Window) Sample(now, took time.Duration, inFlight int, refused bool) {
	w.w.sample(now, took, inFlight, refused)
}

func Classic(size int) Window     { return Window{&classic{size: size}} }
func NetflixAIMD(size int) Window { return Window{&netflixAIMD{size: size}} }
func Vegas() Window               { return Window{newVegas(1)} }
func Gradient2() Window           { return Window{&gradient2{size: 20}} }
