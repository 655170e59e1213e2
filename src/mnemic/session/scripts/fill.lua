-- The window as the log has it: ARGV = most turns, most bytes, life in ms, token, blocks in order.
-- Only into a window that is there: built under this token, or broken. Keeps turns that came after the log was
-- read. Answers 1, or 0 where it changed nothing.
local head = at(0)
if not head or #ARGV < 5 then
    return 0
end
local start = 1
if building(head) then
    if head:sub(HEAD + 2) ~= ARGV[4] then
        return 0
    end
    start = 2
end
local _, read_to = span(sized(0, ARGV[#ARGV]))
local elements, later, whole, before = redis.call('LRANGE', key, 0, -1), {}, start == 1, nil
for number = start, #elements do
    local first, last = span(elements[number])
    if first > read_to then
        later[#later + 1] = elements[number]:sub(HEAD + 1)
    elseif last > read_to then
        return 0
    end
    whole = whole and (before == nil or first == before + 1)
    before = last
end
if whole and before >= read_to then
    return 0
end
redis.call('DEL', key)
local bytes = 0
local function add(block)
    bytes = bytes + HEAD + #block
    redis.call('RPUSH', key, sized(bytes, block))
end
for number = 5, #ARGV do
    add(ARGV[number])
end
for _, block in ipairs(later) do
    add(block)
end
redis.call('PEXPIRE', key, ARGV[3])
trim(tonumber(ARGV[1]), tonumber(ARGV[2]))
return 1
