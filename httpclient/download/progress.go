package download

import "time"

// Progress is the progress of a download.
type Progress struct {
	// Bytes is how many bytes of the file have arrived. It falls if the download starts anew. While bytes
	// of an earlier call are verified it counts those.
	Bytes int64
	// Total is the length of the file, or -1 if the server does not report it.
	Total int64
	// Resumed is how many of Bytes an earlier call had fetched.
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

// end reports the final progress, unless the last report was already final.
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
