-- One operation of a store on the keys of one hash tag. See script.go for the arguments and replies.
--
-- Times and durations are whole microseconds, times since 1970: doubles hold them exactly. Every loop is bounded by
-- the arguments, by the windows of a key, or by the stamps of a window.

local call, floor, ceil, max, min, sub = redis.call, math.floor, math.ceil, math.max, math.min, string.sub
local pack, unpack = struct.pack, struct.unpack

local VERSION = 1
local STAMPS, SLOTS = 128, 64   -- a sliding window is exact up to STAMPS stamps, and counts in SLOTS parts above
local LONGEST = 3153600000000000 -- a century
local POLL = 25000              -- how soon a caller that waits for a slot asks again
local LINGER = 1000             -- milliseconds that a key outlives its history

local cursor = 2
local function text() cursor = cursor + 1; return ARGV[cursor] end
local function number() cursor = cursor + 1; return tonumber(ARGV[cursor]) end

local now = tonumber(ARGV[1])
if not now then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end

-- Keys ---------------------------------------------------------------------------------------------------------------

-- The value of a key: {VERSION, name, concurrency, spec, cooled until, token, last, windows}. KEYS has two names for
-- each key: that of its value, and that of its slots, a sorted set of leases by when they lapse.
local function load(i)
  local raw = call('GET', KEYS[2*i-1])
  local k = {at = KEYS[2*i-1], slots = KEYS[2*i], fresh = not raw, name = '', conc = 0, spec = '', cool = 0, last = 0, windows = {}}
  if raw then
    local ok, v = pcall(cmsgpack.unpack, raw)
    if not ok or type(v) ~= 'table' or v[1] ~= VERSION then return nil end
    k.name, k.conc, k.spec, k.cool, k.tok, k.last, k.windows = v[2], v[3], v[4], v[5], v[6], v[7], v[8]
    now = max(now, k.last)
  end
  return k
end

if ARGV[2] == 'forget' then -- whatever the value is
  call('DEL', KEYS[1], KEYS[2])
  call('PUBLISH', ARGV[3], ARGV[4])
  return {0, now}
end

local keys = {}
for i = 1, #KEYS/2 do
  keys[i] = load(i)
  if not keys[i] then return redis.error_reply('HEADRACE the value at ' .. KEYS[2*i-1] .. ' is not of this version of redisstore') end
end
-- Calls from before a key was made have nothing to get back from it.
for _, k in ipairs(keys) do k.tok = k.tok or now - 1 end

-- Sliding windows: {1, unit, max, per, since, grain, sum, gone, log} -------------------------------------------------

-- The log has 13 bytes for each stamp, oldest first: when, and how many units. A grain of 0 is exact; else stamps are
-- rounded up to a multiple of it. What was taken up to gone is not in the log any more.
local SIZE, LARGEST = 13, 2^48-1

local function stamps(w) return #w[9] / SIZE end
local function stamp(w, i) return unpack('>I7I6', w[9], i*SIZE + 1) end
local function packed(at, n) return pack('>I7I6', at, min(n, LARGEST)) end

local function rounded(w, at)
  if w[6] == 0 then return at end
  return ceil(at / w[6]) * w[6]
end

local function expire(w)
  local n, i = stamps(w), 0
  while i < n do
    local at, units = stamp(w, i)
    if now - at < w[4] then break end
    w[7] = w[7] - units
    i = i + 1
  end
  if i > 0 then w[9] = sub(w[9], i*SIZE + 1) end
  if i == n then w[6], w[7] = 0, 0 end
end

local function append(w, at, units)
  local n = stamps(w)
  w[7] = w[7] + units
  if n > 0 then
    local last, before = stamp(w, n-1)
    if last >= at then
      w[9] = sub(w[9], 1, (n-1)*SIZE) .. packed(last, before + units)
      return
    end
  end
  w[9] = w[9] .. packed(at, units)
end

-- coarsen has the window count in parts from now on, until it is empty.
local function coarsen(w)
  local log = w[9]
  w[6], w[7], w[9] = max(1, floor(w[4] / SLOTS)), 0, ''
  w[8] = max(w[8], now - w[4])
  for i = 0, #log/SIZE - 1 do
    local at, units = unpack('>I7I6', log, i*SIZE + 1)
    append(w, rounded(w, at), units)
  end
end

local function push(w, at, units)
  append(w, rounded(w, at), units)
  if stamps(w) > STAMPS then coarsen(w) end
end

local sliding = {}

function sliding.wait(w, n)
  expire(w)
  local excess = w[7] + n - w[3]
  for i = 0, stamps(w) - 1 do
    if excess <= 0 then return 0 end
    local at, units = stamp(w, i)
    excess = excess - units
    if excess <= 0 then return at + w[4] - now end
  end
  return 0
end

function sliding.take(w, n) expire(w); push(w, now, n) end

function sliding.back(w, at, n)
  expire(w)
  if at <= w[8] then return end
  local want, lo, hi = rounded(w, at), 0, stamps(w)
  while lo < hi do
    local mid = floor((lo + hi) / 2)
    if stamp(w, mid) >= want then hi = mid else lo = mid + 1 end
  end
  if lo == stamps(w) then return end
  local found, units = stamp(w, lo)
  if found ~= want then return end
  n = min(n, units)
  w[7] = w[7] - n
  local rest = n < units and packed(found, units - n) or ''
  w[9] = sub(w[9], 1, lo*SIZE) .. rest .. sub(w[9], (lo+1)*SIZE + 1)
end

function sliding.spent(w) expire(w); return w[7] end

function sliding.frees(w)
  expire(w)
  local n = stamps(w)
  if n == 0 then return 0, 0 end
  return stamp(w, 0) + w[4] - now, stamp(w, n-1) + w[4] - now
end

function sliding.room(w, n) expire(w); return floor((w[3] - w[7]) / n) end

function sliding.follow(w, old)
  expire(old)
  local forgotten = now - old[4]
  if old[6] > 0 then
    forgotten = floor(forgotten / old[6]) * old[6]
    w[6] = max(1, floor(w[4] / SLOTS))
  end
  w[8] = max(old[8], forgotten)
  for i = 0, stamps(old) - 1 do push(w, stamp(old, i)) end
  expire(w)
  return true
end

function sliding.ends(w) local _, all = sliding.frees(w); return all end

-- Buckets: {2, unit, burst, time for a unit, since, missing, at, brim, low at, low, taken} ---------------------------

-- missing is how long the bucket took to fill at the time at. What was taken before brim cannot be given back: it was
-- full then. low is the least that was missing just before a take, at or after the time low at; -1: none.
local bucket = {}

local function missing(w) return max(0, w[6] - (now - w[7])) end

local function note(w)
  local m = w[6] - (now - w[7])
  w[7] = now
  if m < 0 then
    w[6], w[8], w[9] = 0, now, -1
    return
  end
  w[6] = m
  if w[9] < 0 or m <= w[10] then w[10] = m end
  w[9] = now
end

function bucket.wait(w, n) return max(0, ceil(missing(w) - (w[3] - n) * w[4])) end

function bucket.take(w, n)
  note(w)
  w[6] = min(w[6] + min(n * w[4], LONGEST), LONGEST)
  w[11] = now
end

function bucket.back(w, at, n)
  if at < w[8] then return end
  local d = n * w[4]
  if w[9] > at then
    d = min(d, w[10])
    w[10] = w[10] - d
  end
  w[6], w[7] = max(missing(w) - d, 0), now
end

function bucket.spent(w) return ceil(missing(w) / w[4] - 1e-9) end

function bucket.frees(w)
  local spent = bucket.spent(w)
  if spent <= 0 then return 0, 0 end
  return max(1, ceil(missing(w) - (spent - 1) * w[4])), max(1, ceil(missing(w)))
end

function bucket.room(w, n)
  local fit = floor((w[3] - missing(w) / w[4]) / n)
  if fit > 0 and bucket.wait(w, n * fit) > 0 then return fit - 1 end
  if n * (fit + 1) <= w[3] and bucket.wait(w, n * (fit + 1)) == 0 then return fit + 1 end
  return fit
end

function bucket.follow(w, old)
  note(old)
  local scale = w[4] / old[4]
  w[8], w[11] = old[8], old[11]
  if old[9] >= 0 then w[9], w[10] = old[9], old[10] * scale end
  local m = (w[3] - old[3]) * w[4] + old[6] * scale
  w[6], w[7] = min(max(m, 0), LONGEST), now
  return m >= 0 and not (w[3] < old[3] and old[11] == now)
end

function bucket.ends(w) return missing(w) end

-- Calendars: {3, unit, max, per, since, begin, end, sum, counts} -----------------------------------------------------

-- sum is what was taken since counts. A demand says when the present period begins and ends: see periods.
local calendar = {}

local function roll(w)
  if now < w[7] then return end
  w[8], w[9] = 0, now
  if w.begins then w[6], w[7], w[9] = w.begins, w.ends, w.begins end
end

function calendar.wait(w, n)
  roll(w)
  if w[8] + n <= w[3] then return 0 end
  return w[7] - now
end

function calendar.take(w, n)
  roll(w)
  -- A debit under limits that the client does not know: its period is not known either, and ends no later than this.
  if now >= w[7] then w[6], w[7] = now, now + w[4] end
  w[8] = w[8] + n
end

function calendar.back(w, at, n)
  roll(w)
  if at >= w[9] then w[8] = max(0, w[8] - n) end
end

function calendar.spent(w) roll(w); return w[8] end

function calendar.frees(w)
  roll(w)
  if w[8] == 0 then return 0, 0 end
  return w[7] - now, w[7] - now
end

function calendar.room(w, n) roll(w); return floor((w[3] - w[8]) / n) end

function calendar.follow(w, old)
  roll(old)
  w[8], w[9] = old[8], old[9]
  return true
end

function calendar.ends(w) return calendar.frees(w) end

-- Limits -------------------------------------------------------------------------------------------------------------

local kinds = {sliding, bucket, calendar}
local function of(w) return kinds[w[1]] end

-- parsed is a spec as windows: kind, unit, max and per (of a bucket: its rate) for each, and what only clients read.
local function parsed(spec)
  local list = {}
  for kind, unit, most, per in string.gmatch(spec, '(%d) (%d) (%d+) (%S+) [^;]*;') do
    local w = {tonumber(kind), tonumber(unit), tonumber(most), tonumber(per)}
    if w[1] == 2 then w[4] = 1e6 / w[4] end
    list[#list+1] = w
  end
  return list
end

-- periods gives the calendars of a list their present period: counted from their anchor, or one of the two that the
-- client sent. It returns false if the client has another time.
local function periods(list, d)
  local b = 0
  for _, w in ipairs(list) do
    if w[1] == 3 then
      if d.bounds[b+1] == '-' then
        local anchor = tonumber(d.bounds[b+2])
        local begins = anchor + floor((now - anchor) / w[4]) * w[4]
        if begins > now then begins = begins - w[4] elseif begins + w[4] <= now then begins = begins + w[4] end
        w.begins, w.ends = begins, begins + w[4]
      else
        local first, second, third = tonumber(d.bounds[b+1]), tonumber(d.bounds[b+2]), tonumber(d.bounds[b+3])
        if now < first or now >= third then return false end
        if now < second then w.begins, w.ends = first, second else w.begins, w.ends = second, third end
      end
      b = b + 3
    end
  end
  return true
end

local function started(w, since)
  if w[1] == 1 then return {1, w[2], w[3], w[4], since, 0, 0, -1, ''} end
  if w[1] == 2 then return {2, w[2], w[3], w[4], since, 0, now, now, -1, 0, 0} end
  return {3, w[2], w[3], w[4], since, w.begins, w.ends, 0, w.begins, begins = w.begins, ends = w.ends}
end

local function likeness(a, b)
  if a[2] ~= b[2] then return 0 end
  if a[1] ~= b[1] then return 1 end
  if a[4] ~= b[4] and (a[1] ~= 2 or a[3] ~= b[3]) then return 2 end
  if a[3] ~= b[3] or a[4] ~= b[4] then return 3 end
  return 4
end

local function length(w) if w[1] == 2 then return 0 end; return w[4] end

-- inherit carries over the history of the old window that resembles w most.
local function inherit(w, olds, i)
  local best, score = nil, 0
  for j, old in ipairs(olds) do
    local s = likeness(w, old)
    if s > score or s > 0 and s == score and (length(old) > length(best) or length(old) == length(best) and i == j) then
      best, score = old, s
    end
  end
  if not best then return end
  if best[1] == w[1] then
    if of(w).follow(w, best) then w[5] = best[5] end
    return
  end
  local n = min(of(best).spent(best), w[3])
  if n > 0 then of(w).take(w, n) end
end

-- under returns the windows of a key under the limits of d; false if the client has another time.
local function under(k, d)
  if k.spec == d.spec then return periods(k.windows, d) and k.windows end
  local wanted = parsed(d.spec)
  if not periods(wanted, d) then return false end
  local list = {}
  for i, w in ipairs(wanted) do
    list[i] = started(w, k.tok)
    inherit(list[i], k.windows, i)
  end
  return list
end

-- demands reads a demand for each key: its name, concurrency and spec, amounts by unit, and the periods of calendars.
local function demands()
  local ds = {}
  for i, k in ipairs(keys) do
    local d = {key = k, name = text(), conc = number(), spec = text(), amounts = {[0] = 0, 0, 0, 0, 0}, bounds = {}}
    for _ = 1, number() do
      local unit = number()
      d.amounts[unit] = number()
    end
    for j = 1, number() do d.bounds[j] = text() end
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

-- save writes the keys that have changed. A key expires when it no longer differs from a new one.
local function save()
  for _, k in ipairs(keys) do
    if k.dirty then
      local ttl = k.cool - now
      if k.conc > 0 then ttl = max(ttl, 1000 * call('PTTL', k.slots)) end
      for _, w in ipairs(k.windows) do
        ttl = max(ttl, of(w).ends(w))
        w.begins, w.ends = nil, nil
      end
      call('SET', k.at, cmsgpack.pack({VERSION, k.name, k.conc, k.spec, k.cool, k.tok, now, k.windows}), 'PX', ceil(max(0, ttl) / 1000) + LINGER)
    end
  end
end

-- Slots --------------------------------------------------------------------------------------------------------------

local function lapses(k, id) local s = call('ZSCORE', k.slots, id); return s and tonumber(s) end
local function held(k, id) local s = lapses(k, id); return s and s > now end

-- expiry has the slots of a key expire with the last lease.
local function expiry(k)
  local last = call('ZRANGE', k.slots, -1, -1, 'WITHSCORES')
  if last[2] then call('PEXPIRE', k.slots, ceil(max(0, tonumber(last[2]) - now) / 1000) + LINGER) end
end

local function taken(k)
  call('ZREMRANGEBYSCORE', k.slots, '-inf', now)
  return call('ZCARD', k.slots)
end

-- Operations ---------------------------------------------------------------------------------------------------------

local OTHER_TIME = -1 -- the reply to a client whose periods are not of this time

-- bound is what one call has to wait for: how long, its kind, the demand and the window, both from 0.
local function bound(ds)
  local wait, kind, demand, window = 0, 0, 0, 0
  for i, d in ipairs(ds) do
    local k, w1, k1, j1 = d.key, 0, 0, 0
    if k.cool > now then w1, k1 = k.cool - now, 3 end
    for j, w in ipairs(d.windows) do
      local n = d.amounts[w[2]]
      if n > 0 then
        local x = of(w).wait(w, n)
        if x > w1 then w1, k1, j1 = x, 1, j - 1 end
      end
    end
    if w1 == 0 and d.conc > 0 and taken(k) >= d.conc then
      local first = call('ZRANGE', k.slots, 0, 0, 'WITHSCORES')
      w1, k1 = min(POLL, tonumber(first[2]) - now), 2
    end
    -- Of windows and cooldowns the longest counts, and a slot only if nothing else is missing.
    local slot, slots = k1 == 2, kind == 2
    if w1 > 0 and not (slot == slots and w1 <= wait or slot and not slots and wait > 0) then
      wait, kind, demand, window = w1, k1, i - 1, j1
    end
  end
  return wait, kind, demand, window
end

local function charge(ds, n)
  for _, d in ipairs(ds) do
    for _, w in ipairs(d.windows) do
      local units = d.amounts[w[2]] * n
      if units > 0 then of(w).take(w, units) end
    end
  end
end

local function fitting(ds, n)
  for _, d in ipairs(ds) do
    for _, w in ipairs(d.windows) do
      local units = d.amounts[w[2]]
      if units > 0 then n = min(n, of(w).room(w, units)) end
    end
    if d.conc > 0 then n = min(n, d.conc - taken(d.key)) end
  end
  return max(1, n)
end

local function uses(ds, reply)
  for _, d in ipairs(ds) do
    for _, w in ipairs(d.windows) do
      local first, all = of(w).frees(w)
      reply[#reply+1], reply[#reply+2], reply[#reply+3] = of(w).spent(w), first, all
    end
  end
  return reply
end

local ops = {}

-- take admits as many as fit of n equal calls, at one instant. A mode of 'peek' changes nothing, one of 'ask' only
-- the limits. The first token is floor or above.
function ops.take()
  local n, id, lease, floor, mode, show = number(), text(), number(), number(), text(), text() == '1'
  local peek = mode == 'peek'
  local ds = demands()
  for _, d in ipairs(ds) do
    d.windows = under(d.key, d)
    if not d.windows then return {OTHER_TIME, now} end
  end
  if not peek then
    for _, d in ipairs(ds) do if not d.key.fresh then adopt(d) end end
  end
  local wait, kind, demand, window = bound(ds)
  local fit, tok = 0, 0
  if wait == 0 and mode == 'take' then
    fit = fitting(ds, n)
    charge(ds, fit)
    for _, d in ipairs(ds) do tok = max(tok, d.key.tok + 1) end
    tok = max(tok, now, floor)
    for _, d in ipairs(ds) do
      local k = d.key
      adopt(d)
      k.name, k.tok, k.dirty = d.name, tok + fit - 1, true
      if d.conc > 0 then
        for i = 0, fit - 1 do call('ZADD', k.slots, now + lease, id .. '.' .. i) end
        expiry(k)
      end
    end
    if fit < n then
      wait, kind, demand, window = bound(ds)
      if wait == 0 then wait, kind = 1, 1 end -- a bucket, by a rounding
    end
  end
  save()
  local reply = {fit, now, tok, wait, kind, demand, window}
  if show then uses(ds, reply) end
  return reply
end

-- finish ends a ticket. The amounts of its demands are what is given back, or charged if negative.
function ops.finish()
  local id, leased, at, tok, channel = text(), text() == '1', number(), number(), text()
  local ds = demands()
  for _, d in ipairs(ds) do
    for u = 0, 4 do d.differs = d.differs or d.amounts[u] ~= 0 end
    if d.differs and (#d.key.windows == 0 or d.key.spec == d.spec) then
      d.windows = under(d.key, d)
      if not d.windows then return {OTHER_TIME, now} end
    end
  end
  if leased then
    for _, d in ipairs(ds) do
      if d.conc > 0 and not held(d.key, id) then return {1, now} end
    end
    for _, d in ipairs(ds) do
      if d.conc > 0 then call('ZREM', d.key.slots, id) end
    end
  end
  for _, d in ipairs(ds) do
    local k = d.key
    if d.differs then
      if #k.windows == 0 then k.windows, k.spec, k.conc, k.name = d.windows, d.spec, d.conc, d.name end
      for _, w in ipairs(k.windows) do
        local n = d.amounts[w[2]]
        if n > 0 and tok > w[5] then of(w).back(w, at, n) elseif n < 0 then of(w).take(w, -n) end
      end
      k.dirty = true
    end
    if channel ~= '' then call('PUBLISH', channel, d.name) end
  end
  save()
  return {0, now}
end

-- renew extends leases and returns the places of those that were lost.
function ops.renew()
  local lease, lost = number(), {}
  for t = 1, number() do
    local id, of, all = text(), {}, true
    for i = 1, number() do
      of[i] = keys[number()]
      all = all and held(of[i], id)
    end
    for _, k in ipairs(of) do
      if all then
        call('ZADD', k.slots, now + lease, id)
        expiry(k)
      end
    end
    if not all then lost[#lost+1] = t - 1 end
  end
  return lost
end

function ops.cool()
  local k, name, d = keys[1], text(), number()
  k.cool, k.name, k.dirty = max(k.cool, now + d), name, true
  save()
  return {0, now}
end

-- look returns what is held about a key; nothing if it does not differ from a new one.
function ops.look()
  local k = keys[1]
  local slots, cooled, idle = taken(k), max(0, k.cool - now), true
  for _, w in ipairs(k.windows) do idle = idle and of(w).spent(w) <= 0 end
  if k.fresh or idle and slots == 0 and cooled == 0 then return {} end
  return uses({{windows = k.windows}}, {k.name, k.spec, k.conc, slots, cooled})
end


return ops[ARGV[2]]()
