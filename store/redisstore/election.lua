-- One operation of an election on its key, a hash: the last token, its holder, until when that has the lease, for how
-- long it was taken, and what the holder keeps.
--
-- ARGV: the time in microseconds (empty: that of Redis), the operation, and what it needs. Times and durations are
-- whole microseconds, times since 1970: doubles hold them exactly.

local LINGER = 2592000000 -- milliseconds that an election is remembered

local at, op = KEYS[1], ARGV[2]
local now = tonumber(ARGV[1])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end

local kept = redis.call('HMGET', at, 'token', 'holder', 'until', 'for')
local token, holder, lapses, length = tonumber(kept[1]) or 0, kept[2] or '', tonumber(kept[3]) or 0, tonumber(kept[4]) or 0
if lapses > now + length then -- the clock was set back, and the lease would not lapse
  lapses = now + length
  redis.call('HSET', at, 'until', string.format('%.0f', lapses))
end

local function set(d, ...)
  redis.call('HSET', at, 'until', string.format('%.0f', now + d), 'for', string.format('%.0f', d), ...)
  redis.call('PEXPIRE', at, LINGER)
end

if op == 'acquire' then
  local candidate, d = ARGV[3], tonumber(ARGV[4])
  if now < lapses and holder ~= candidate then return {0, holder, ''} end
  token = math.max(now, token + 1) -- larger than before, also if the key was lost
  set(d, 'token', string.format('%.0f', token), 'holder', candidate)
  return {token, candidate, redis.call('HGET', at, 'saved') or ''}
end

if string.format('%.0f', token) ~= ARGV[3] or now >= lapses then return {0} end

if op == 'renew' then
  if ARGV[5] == '1' then
    set(tonumber(ARGV[4]), 'saved', ARGV[6])
  else
    set(tonumber(ARGV[4]))
  end
elseif op == 'release' then
  set(0)
end
return {1}
