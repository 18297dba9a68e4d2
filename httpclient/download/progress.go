package download

import "time"

// Progress is how far a download has come.
type Progress struct {
	// Bytes is how many bytes of the file are there. It falls when the download has to start anew. While those of an
	// earlier call are read again it is how many were.
	Bytes int64
	// Total is how long the file is, or -1 if the server does not say.
	Total int64
	// Resumed is how many of Bytes an earlier call had left.
	Resumed int64
}

// meter calls the callback seldom enough.
type meter struct {
	session *session
	told    bool
	at      time.Duration // of the last call
	last    Progress      // what it was called with
	over    bool          // it panicked
}

func (m *meter) tick() {
	if m.session.report == nil || m.over {
		return
	}
	now := m.session.clock.Elapsed()
	if m.told && now-m.at < m.session.every {
		return
	}
	m.told, m.at = true, now
	m.call()
}

// end tells of the end, unless that was told by chance.
func (m *meter) end() {
	if m.session.report != nil && !m.over && (!m.told || m.last != m.progress()) {
		m.call()
	}
}

func (m *meter) call() {
	m.over = true
	defer func() { _ = recover() }() // and over stays set
	m.last = m.progress()
	m.session.report(m.last)
	m.over = false
}

func (m *meter) progress() Progress {
	p := m.session.part
	return Progress{Bytes: p.have, Total: p.total, Resumed: m.session.resumed}
}
