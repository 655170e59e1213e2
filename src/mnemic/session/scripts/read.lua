-- The newest turns: ARGV = turns wanted, "1" with their vectors, life in ms, token, life of a building window in ms.
-- Answers one string: "W" and the blocks, oldest first; "B" for no window, now to be built under the token;
-- "O" for one that somebody else builds; "G" for a gap.
local wanted, vectors = tonumber(ARGV[1]), ARGV[2] == '1'
local head = at(0)
if not head then
    redis.call('RPUSH', key, sized(0, 'B' .. ARGV[4]))
    redis.call('PEXPIRE', key, ARGV[5])
    return 'B'
end
if building(head) then
    return 'O'
end
redis.call('PEXPIRE', key, ARGV[3])
local found, count, have, before, index = {}, 0, 0, nil, -1
while have < wanted do
    local element = at(index)
    if not element then
        break
    end
    local first, last, turns = span(element)
    if before and last + 1 ~= before then
        return 'G'
    end
    count = count + 1
    found[count] = element:sub(HEAD + 1, vectors and -1 or HEAD + 21 + turns)
    have = have + last - first + 1
    before = first
    index = index - 1
end
local answer = { 'W' }
for number = count, 1, -1 do
    answer[#answer + 1] = found[number]
end
return table.concat(answer)
