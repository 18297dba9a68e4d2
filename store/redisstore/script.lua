-- One operation of a store on the keys of one hash tag. See script.go for the operations.
--
-- ARGV: the time in microseconds (empty: that of Redis), the operation, and what it needs. KEYS has two names for each
-- key: that of its value, and that of its slots, a sorted set of leases by when they lapse.
--
-- Times and durations are whole microseconds, times since 1970: doubles hold them exactly. Every loop is bounded by
-- the arguments, by the windows of a key, or by the stamps of a window. Redis makes every function anew each time it
-- runs the script, so what is rarely needed is made where it is.

local ARGV, KEYS, call = ARGV, KEYS, redis.call
local floor, ceil, max, min, sub = math.floor, math.ceil, math.max, math.min, string.sub
local pack, unpack = struct.pack, struct.unpack

local VERSION = 1
local STAMPS, SLOTS = 128, 64    -- a sliding window is exact up to STAMPS stamps, and counts in SLOTS parts above
local LONGEST = 3153600000000000 -- a century
local POLL = 25000               -- how soon a caller that waits for a slot asks again
local LINGER = 1000              -- milliseconds that a key outlives its history
local OTHER_TIME = -1            -- the reply to a client whose periods are not of this time, with the time

local op = ARGV[2]
local now = tonumber(ARGV[1])
if not now then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end

local cursor = 2
local function text() cursor = cursor + 1; return ARGV[cursor] end
local function number() cursor = cursor + 1; return tonumber(ARGV[cursor]) end

if op == 'forget' then -- whatever the value is
  call('PUBLISH', text(), text())
  call('DEL', KEYS[1], KEYS[2])
  return {0, now}
end

-- Keys ---------------------------------------------------------------------------------------------------------------

-- The value of a key: a sum of what follows, which is VERSION, name, concurrency, spec, cooled until, token, last,
-- windows. Damage that the sum shows could otherwise admit any number of calls.
local SUM = 8
local function sum(packed) return sub(redis.sha1hex(packed), 1, SUM) end

-- DAMAGED is the error about one key, followed by its place among the keys.
local DAMAGED = 'HEADRACE damaged '
local function mistyped(reply)
  return type(reply) == 'table' and reply.err and string.find(reply.err, 'WRONGTYPE', 1, true)
end

local keys = {}
for i = 1, #KEYS/2 do
  local at = KEYS[2*i-1]
  local raw = redis.pcall('GET', at)
  if mistyped(raw) then raw = '' elseif type(raw) == 'table' then return raw end
  local fresh, version, name, conc, spec, cool, tok, last, windows = true, VERSION, '', 0, '', 0, nil, 0, {}
  if raw then
    local packed = sub(raw, SUM + 1)
    fresh, version = false, nil
    if sum(packed) == sub(raw, 1, SUM) then version, name, conc, spec, cool, tok, last, windows = cmsgpack.unpack(packed) end
    if version ~= VERSION then
      return redis.error_reply(DAMAGED .. i)
    end
    now = max(now, last)
  end
  keys[i] = {i = i, at = at, slots = KEYS[2*i], fresh = fresh, name = name, conc = conc, spec = spec, cool = cool, tok = tok, windows = windows}
end
-- Calls from before a key was made have nothing to get back from it.
for _, k in ipairs(keys) do k.tok = k.tok or now - 1 end

-- ask asks about the slots of a key. What asks first does it so: the slots may be of another type.
local function ask(k, command, ...)
  local reply = redis.pcall(command, k.slots, ...)
  if mistyped(reply) then error(DAMAGED .. k.i) end
  if type(reply) == 'table' and reply.err then return call(command, k.slots, ...) end
  return reply
end

-- Windows ------------------------------------------------------------------------------------------------------------

-- A sliding window: {1, unit, max, per, since, grain, sum, gone, log}. The log has 13 bytes for each stamp, oldest
-- first: when, and how many units. A grain of 0 is exact; else stamps are rounded up to a multiple of it. What was
-- taken up to gone is not in the log any more.
--
-- A bucket: {2, unit, burst, time for a unit, since, missing, at, brim, taken, lows}. missing is how long it took to
-- fill at the time at. What was taken before brim cannot be given back: it was full then. lows has 15 bytes for each of
-- up to LOWS takes since, oldest first: when, and how much was missing just before, ever more. What missed as much or
-- more before is left out. Of more than LOWS the two most alike are merged: then less can be given back, never more.
--
-- A calendar: {3, unit, max, per, since, begin, end, sum, counts}. sum is what was taken since counts. begins and ends
-- are the present period, if the client has said which it is.
--
-- Calls with a token up to since were not charged.
local SIZE, LARGEST = 13, 2^48-1
local LOW, LOWS = 15, 16

local function stamp(w, i) return unpack('>I7I6', w[9], i*SIZE + 1) end

local function rounded(w, at)
  if w[6] == 0 then return at end
  return ceil(at / w[6]) * w[6]
end

-- append adds units to a log. With more than STAMPS stamps it counts in parts from then on, until it is empty.
local function append(w, at, units)
  local n = #w[9] / SIZE
  at = rounded(w, at)
  w[7] = w[7] + units
  if n > 0 then
    local last, before = stamp(w, n-1)
    if last >= at then
      w[9] = sub(w[9], 1, (n-1)*SIZE) .. pack('>I7I6', last, min(before + units, LARGEST))
      return
    end
  end
  w[9] = w[9] .. pack('>I7I6', at, min(units, LARGEST))
  if n < STAMPS or w[6] > 0 then return end
  local log = w[9]
  w[6], w[7], w[8], w[9] = max(1, floor(w[4] / SLOTS)), 0, max(w[8], now - w[4]), ''
  for i = 0, n do
    local t, u = unpack('>I7I6', log, i*SIZE + 1)
    append(w, t, u)
  end
end

-- missing is how long a bucket takes to fill.
local function missing(w) return max(0, w[6] - (now - w[7])) end

local function low(lows, i) return unpack('>I7d', lows, i*LOW + 1) end

-- note remembers how much a bucket misses just before a take.
local function note(w)
  local m = w[6] - (now - w[7])
  w[7] = now
  if m < 0 then
    w[6], w[8], w[10] = 0, now, ''
    return
  end
  w[6] = m
  local lows = w[10]
  local n = #lows / LOW
  while n > 0 and select(2, low(lows, n - 1)) >= m do n = n - 1 end
  lows = sub(lows, 1, n*LOW)
  if n == LOWS then
    -- Of two neighbours the amount of the first and the time of the second stay. They are compared by ratio: a low above
    -- what a call took does not matter.
    local best, least, _, before = 0, math.huge, low(lows, 0)
    for i = 1, n - 1 do
      local _, missed = low(lows, i)
      if missed / before < least then best, least = i - 1, missed / before end
      before = missed
    end
    local _, missed = low(lows, best)
    lows = sub(lows, 1, best*LOW) .. pack('>I7d', low(lows, best + 1), missed) .. sub(lows, (best+2)*LOW + 1)
  end
  w[10] = lows .. pack('>I7d', now, m)
end

-- settle has a window be as of now: stamps expire, a period ends.
local function settle(w)
  if w[1] == 1 then
    local n, i = #w[9] / SIZE, 0
    while i < n do
      local at, units = stamp(w, i)
      if now - at < w[4] then break end
      w[7] = w[7] - units
      i = i + 1
    end
    if i > 0 then w[9] = sub(w[9], i*SIZE + 1) end
    if i == n then w[6], w[7] = 0, 0 end
  elseif w[1] == 3 and now >= w[7] then
    w[8], w[9] = 0, now
    if w.begins then w[6], w[7], w[9] = w.begins, w.ends, w.begins end
  end
end

-- wait is how long until n units fit. The window is settled.
local function wait(w, n)
  if w[1] == 2 then return max(0, ceil(missing(w) - (w[3] - n) * w[4])) end
  if w[1] == 3 then
    if w[8] + n <= w[3] then return 0 end
    return w[7] - now
  end
  local excess = w[7] + n - w[3]
  if excess <= 0 then return 0 end
  for i = 0, #w[9] / SIZE - 1 do
    local at, units = stamp(w, i)
    excess = excess - units
    if excess <= 0 then return at + w[4] - now end
  end
  return w[4]
end

-- room is how many times n units fit. The window is settled.
local function room(w, n)
  if w[1] == 1 then return floor((w[3] - w[7]) / n) end
  if w[1] == 3 then return floor((w[3] - w[8]) / n) end
  local fit = floor((w[3] - missing(w) / w[4]) / n)
  if fit > 0 and wait(w, n * fit) > 0 then return fit - 1 end
  if n * (fit + 1) <= w[3] and wait(w, n * (fit + 1)) == 0 then return fit + 1 end
  return fit
end

-- take charges n units, whether they fit or not.
local function take(w, n)
  settle(w)
  if w[1] == 1 then
    append(w, now, n)
  elseif w[1] == 2 then
    note(w)
    w[6], w[9] = min(w[6] + min(n * w[4], LONGEST), LONGEST), now
  else
    -- A debit under limits that the client does not know: the period is not known either, and ends by then.
    if now >= w[7] then w[6], w[7] = now, now + w[4] end
    w[8] = w[8] + n
  end
end

local function spent(w)
  settle(w)
  if w[1] == 1 then return w[7] end
  if w[1] == 2 then return ceil(missing(w) / w[4] - 1e-9) end
  return w[8]
end

-- lasts is how long until nothing is spent.
local function lasts(w)
  settle(w)
  if w[1] == 2 then return ceil(missing(w)) end
  if w[1] == 3 then return w[8] == 0 and 0 or w[7] - now end
  local n = #w[9] / SIZE
  return n == 0 and 0 or stamp(w, n-1) + w[4] - now
end

-- Limits -------------------------------------------------------------------------------------------------------------

-- periods gives the calendars of a list their present period: counted from an anchor, or one of two that the client
-- sent. It returns false if the client has another time.
local function periods(list, d)
  local b = 0
  for _, w in ipairs(list) do
    if w[1] == 3 then
      local first, second, third = d.bounds[b+1], tonumber(d.bounds[b+2]), tonumber(d.bounds[b+3])
      if first == '-' then
        local begins = second + floor((now - second) / w[4]) * w[4]
        if begins > now then begins = begins - w[4] elseif begins + w[4] <= now then begins = begins + w[4] end
        w.begins, w.ends = begins, begins + w[4]
      else
        first = tonumber(first)
        if now < first or now >= third then return false end
        if now < second then w.begins, w.ends = first, second else w.begins, w.ends = second, third end
      end
      b = b + 3
    end
  end
  return true
end

-- rebuilt returns windows for the limits of d, with the history of those that the key has; false if the client has
-- another time.
local function rebuilt(k, d)
  local function likeness(a, b)
    if a[2] ~= b[2] then return 0 end
    if a[1] ~= b[1] then return 1 end
    if a[4] ~= b[4] and (a[1] ~= 2 or a[3] ~= b[3]) then return 2 end
    if a[3] ~= b[3] or a[4] ~= b[4] then return 3 end
    return 4
  end
  local function length(w) if w[1] == 2 then return 0 end; return w[4] end

  -- follow takes over the history of a window of the same kind. It returns false if nothing of it can be given back.
  local function follow(w, old)
    settle(old)
    if w[1] == 1 then
      local forgotten = now - old[4]
      if old[6] > 0 then
        forgotten = floor(forgotten / old[6]) * old[6]
        w[6] = max(1, floor(w[4] / SLOTS))
      end
      w[8] = max(old[8], forgotten)
      for i = 0, #old[9] / SIZE - 1 do append(w, stamp(old, i)) end
      settle(w)
    elseif w[1] == 2 then
      note(old)
      local scale = w[4] / old[4]
      w[8], w[9] = old[8], old[9]
      for i = 0, #old[10] / LOW - 1 do
        local at, m = low(old[10], i)
        w[10] = w[10] .. pack('>I7d', at, m * scale)
      end
      local m = (w[3] - old[3]) * w[4] + old[6] * scale
      w[6], w[7] = min(max(m, 0), LONGEST), now
      return m >= 0 and not (w[3] < old[3] and w[9] == now)
    else
      w[8], w[9] = old[8], old[9]
    end
    return true
  end

  local list = {}
  for kind, unit, most, per in string.gmatch(d.spec, '(%d) (%d) (%d+) (%S+) [^;]*;') do
    list[#list+1] = {tonumber(kind), tonumber(unit), tonumber(most), tonumber(per), k.tok}
  end
  if not periods(list, d) then return false end
  for i, w in ipairs(list) do
    if w[1] == 1 then
      w[6], w[7], w[8], w[9] = 0, 0, -1, ''
    elseif w[1] == 2 then
      w[4] = 1e6 / w[4] -- it was the rate
      w[6], w[7], w[8], w[9], w[10] = 0, now, now, 0, ''
    else
      w[6], w[7], w[8], w[9] = w.begins, w.ends, 0, w.begins
    end
    local best, score = nil, 0
    for j, old in ipairs(k.windows) do
      local s = likeness(w, old)
      if s > score or s > 0 and s == score and (length(old) > length(best) or length(old) == length(best) and i == j) then
        best, score = old, s
      end
    end
    if best and best[1] == w[1] then
      if follow(w, best) then w[5] = best[5] end
    elseif best then
      local n = min(spent(best), w[3])
      if n > 0 then take(w, n) end
    end
  end
  return list
end

-- under returns the windows of a key under the limits of d; false if the client has another time.
local function under(k, d)
  if k.spec ~= d.spec then return rebuilt(k, d) end
  return periods(k.windows, d) and k.windows
end

-- demands reads a demand for each key: its name and spec; its concurrency, the amounts by unit, and how many words
-- follow, which are the periods of calendars.
local function demands()
  local ds = {}
  for i, k in ipairs(keys) do
    local name, spec = text(), text()
    local conc, a0, a1, a2, a3, a4, words = unpack('>ddddddd', text())
    local d = {key = k, name = name, spec = spec, conc = conc, amounts = {[0] = a0, a1, a2, a3, a4}, bounds = {}}
    for j = 1, words do d.bounds[j] = text() end
    ds[i] = d
  end
  return ds
end

-- adopt has the limits of d apply to its key.
local function adopt(d)
  local k = d.key
  if k.spec ~= d.spec or k.conc ~= d.conc then
    k.spec, k.conc, k.windows, k.dirty = d.spec, d.conc, d.windows, true
  end
end

-- taken is how many slots of a key are.
local function taken(k)
  k.used = k.used or ask(k, 'ZCOUNT', now + 1, '+inf')
  return k.used
end

-- commit writes the keys that have changed, and the leases that they get and lose. All is decided, and announced, before
-- the first write: a script that fails by then, if only because Redis does not let it publish, changes nothing. A key
-- expires when it no longer differs from a new one, its slots with the last lease.
local function commit(lease, channel, names)
  for _, k in ipairs(keys) do
    local last = 0
    if k.gets or k.dirty and k.conc > 0 then
      last = max(0, (tonumber(ask(k, 'ZRANGE', -1, -1, 'WITHSCORES')[2]) or now) - now)
      if k.gets then last = max(last, lease) end
      k.last = ceil(last / 1000) + LINGER
    end
    if k.dirty then
      local ttl = max(0, last, k.cool - now)
      -- A token that several groups share is ahead of the clock.
      if k.conc > 0 then ttl = max(ttl, k.tok - now) end
      for _, w in ipairs(k.windows) do
        ttl = max(ttl, lasts(w))
        if w.begins then w.begins, w.ends = nil, nil end
      end
      local packed = cmsgpack.pack(VERSION, k.name, k.conc, k.spec, k.cool, k.tok, now, k.windows)
      k.value, k.ttl = sum(packed) .. packed, ceil(ttl / 1000) + LINGER
    end
  end
  for _, name in ipairs(names or {}) do call('PUBLISH', channel, name) end
  for _, k in ipairs(keys) do
    if k.value then call('SET', k.at, k.value, 'PX', k.ttl) end
    for _, id in ipairs(k.loses or {}) do call('ZREM', k.slots, id) end
    if k.gets then
      call('ZREMRANGEBYSCORE', k.slots, '-inf', now)
      for _, id in ipairs(k.gets) do call('ZADD', k.slots, now + lease, id) end
      call('PEXPIRE', k.slots, k.last)
    end
  end
end

-- held reports whether a lease on a slot has not lapsed.
local function held(k, id)
  local lapses = ask(k, 'ZSCORE', id)
  return lapses and tonumber(lapses) > now
end

-- uses appends to a reply how much of each window is spent, when a unit is free, and when all are.
local function uses(windows, reply)
  for _, w in ipairs(windows) do
    local n, all = spent(w), lasts(w)
    local first = all
    if n > 0 and w[1] == 1 then first = stamp(w, 0) + w[4] - now end
    if n > 0 and w[1] == 2 then first, all = max(1, ceil(missing(w) - (n - 1) * w[4])), max(1, all) end
    if n <= 0 then first, all = 0, 0 end
    reply[#reply+1], reply[#reply+2], reply[#reply+3] = n, first, all
  end
end

-- Operations ---------------------------------------------------------------------------------------------------------

-- take admits as many as fit of n equal calls, at one instant. A mode of 'peek' changes nothing, one of 'ask' only the
-- limits. The first token is least or above.
if op == 'take' then
  local n, id, lease, least, mode, show = number(), text(), number(), number(), text(), text() == '1'
  local ds = demands()
  for _, d in ipairs(ds) do
    d.windows = under(d.key, d)
    if not d.windows then return {OTHER_TIME, now} end
    for _, w in ipairs(d.windows) do settle(w) end
    if mode ~= 'peek' and not d.key.fresh then adopt(d) end
  end

  -- bound is what one call has to wait for: how long, its kind, the demand and the window, both from 0.
  local function bound()
    local longest, kind, demand, window = 0, 0, 0, 0
    for i, d in ipairs(ds) do
      local k, w1, k1, j1 = d.key, 0, 0, 0
      if k.cool > now then w1, k1 = k.cool - now, 3 end
      for j, w in ipairs(d.windows) do
        local units = d.amounts[w[2]]
        if units > 0 then
          local x = wait(w, units)
          if x > w1 then w1, k1, j1 = x, 1, j - 1 end
        end
      end
      if w1 == 0 and d.conc > 0 and taken(k) >= d.conc then
        local first = call('ZRANGEBYSCORE', k.slots, now + 1, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
        w1, k1 = min(POLL, k.gets and lease or POLL, first and first - now or POLL), 2
      end
      -- Of windows and cooldowns the longest counts, and a slot only if nothing else is missing.
      local slot, slots = k1 == 2, kind == 2
      if w1 > 0 and not (slot == slots and w1 <= longest or slot and not slots and longest > 0) then
        longest, kind, demand, window = w1, k1, i - 1, j1
      end
    end
    return longest, kind, demand, window
  end

  local longest, kind, demand, window = bound()
  local fit, tok = 0, 0
  if longest == 0 and mode == 'take' then
    fit, tok = n, max(now, least)
    for _, d in ipairs(ds) do
      tok = max(tok, d.key.tok + 1)
      if n > 1 then
        for _, w in ipairs(d.windows) do
          local units = d.amounts[w[2]]
          if units > 0 then fit = min(fit, room(w, units)) end
        end
        if d.conc > 0 then fit = min(fit, d.conc - taken(d.key)) end
      end
    end
    fit = max(1, fit)
    for _, d in ipairs(ds) do
      local k = d.key
      for _, w in ipairs(d.windows) do
        local units = d.amounts[w[2]] * fit
        if units > 0 then take(w, units) end
      end
      adopt(d)
      k.name, k.tok, k.dirty = d.name, tok + fit - 1, true
      if d.conc > 0 then
        k.gets, k.used = {}, taken(k) + fit
        for i = 1, fit do k.gets[i] = id .. '.' .. i - 1 end
      end
    end
    if fit < n then
      longest, kind, demand, window = bound()
      if longest == 0 then longest, kind = 1, 1 end -- a bucket, by a rounding
    end
  end
  commit(lease)
  local reply = {fit, now, tok, longest, kind, demand, window}
  if show then
    for _, d in ipairs(ds) do uses(d.windows, reply) end
  end
  return reply
end

-- finish ends a ticket. The amounts of its demands are what is given back, or charged if negative. If one of its slots
-- is lost, the others become free, and nothing else changes.
if op == 'finish' then
  local id, leased, at, tok, channel, lost = text(), text() == '1', number(), number(), text(), false
  local ds = demands()
  for _, d in ipairs(ds) do
    for u = 0, 4 do d.differs = d.differs or d.amounts[u] ~= 0 end
    if d.differs and (#d.key.windows == 0 or d.key.spec == d.spec) then
      d.windows = under(d.key, d)
      if not d.windows then return {OTHER_TIME, now} end
    end
    if leased and d.conc > 0 and not held(d.key, id) then lost = true end
  end

  -- back gives back n units that were taken at the time at.
  local function back(w, n)
    settle(w)
    if w[1] == 1 then
      if at <= w[8] then return end
      local want, lo, hi = rounded(w, at), 0, #w[9] / SIZE
      while lo < hi do
        local mid = floor((lo + hi) / 2)
        if stamp(w, mid) >= want then hi = mid else lo = mid + 1 end
      end
      if lo == #w[9] / SIZE then return end
      local found, units = stamp(w, lo)
      if found ~= want then return end
      n = min(n, units)
      w[7] = w[7] - n
      local rest = n < units and pack('>I7I6', found, units - n) or ''
      w[9] = sub(w[9], 1, lo*SIZE) .. rest .. sub(w[9], (lo+1)*SIZE + 1)
    elseif w[1] == 2 then
      if at < w[8] then return end
      local lows, count, i, d = w[10], #w[10] / LOW, 0, n * w[4]
      while i < count and low(lows, i) <= at do i = i + 1 end
      if i < count then
        local _, least = low(lows, i)
        d = min(d, least)
        local kept = i
        while kept > 0 and select(2, low(lows, kept - 1)) >= least - d do kept = kept - 1 end
        w[10] = sub(lows, 1, kept*LOW)
        for j = i, count - 1 do
          local t, m = low(lows, j)
          w[10] = w[10] .. pack('>I7d', t, m - d)
        end
      end
      w[6], w[7] = max(missing(w) - d, 0), now
    elseif at >= w[9] then
      w[8] = max(0, w[8] - n)
    end
  end

  local names = {}
  for i, d in ipairs(ds) do
    local k = d.key
    if leased and d.conc > 0 then k.loses = {id} end
    if d.differs and not lost then
      if #k.windows == 0 then k.windows, k.spec, k.conc, k.name = d.windows, d.spec, d.conc, d.name end
      for _, w in ipairs(k.windows) do
        local n = d.amounts[w[2]]
        if n > 0 and tok > w[5] then back(w, n) elseif n < 0 then take(w, -n) end
      end
      k.dirty = true
    end
    if channel ~= '' then names[i] = d.name end
  end
  commit(0, channel, names)
  return {lost and 1 or 0, now}
end

-- renew extends leases and returns the places of those that were lost. What these have left becomes free.
if op == 'renew' then
  local lease, lost = number(), {}
  for t = 1, number() do
    local id, of, all = text(), {}, true
    for i = 1, number() do
      of[i] = keys[number()]
      if not held(of[i], id) then all = false end
    end
    for _, k in ipairs(of) do
      if all then
        k.gets, k.dirty = k.gets or {}, not k.fresh
        k.gets[#k.gets+1] = id
      else
        k.loses = k.loses or {}
        k.loses[#k.loses+1] = id
      end
    end
    if not all then lost[#lost+1] = t - 1 end
  end
  commit(lease)
  return lost
end

if op == 'cool' then
  local k, name, d = keys[1], text(), number()
  k.cool, k.name, k.dirty = max(k.cool, now + d), name, true
  commit()
  return {0, now}
end

-- look returns what is held about a key; nothing if it does not differ from a new one.
if op == 'look' then
  local k = keys[1]
  local slots, cooled, idle = taken(k), max(0, k.cool - now), true
  for _, w in ipairs(k.windows) do idle = idle and spent(w) <= 0 end
  if k.fresh or idle and slots == 0 and cooled == 0 then return {} end
  local reply = {k.name, k.spec, k.conc, slots, cooled}
  uses(k.windows, reply)
  return reply
end

return redis.error_reply('HEADRACE unknown operation')
