-- New turns, if there is a window (as RPUSHX): ARGV = most turns, most bytes, life in ms, blocks in order.
-- A block stands at its place by seq, whoever comes first; one that is there already is left out.
-- Answers how many elements the window has, 0 for none.
local function put(block)
    local tail = at(-1)
    if building(tail) then
        redis.call('RPUSH', key, sized(size(tail) + HEAD + #block, block))
        return
    end
    local first = span(sized(0, block))
    local index, element = -1, tail
    while element and not building(element) and span(element) > first do
        index = index - 1
        element = at(index)
    end
    if element and not building(element) then
        local _, last = span(element)
        if last >= first then
            return
        end
    end
    local bytes = size(tail) + HEAD + #block
    if index == -1 then
        redis.call('RPUSH', key, sized(bytes, block))
        return
    end
    -- the newest element counts what came in between
    redis.call('LSET', key, -1, sized(bytes, tail:sub(HEAD + 1)))
    local inside = sized(bytes - HEAD - #block, block)
    if not element then
        redis.call('LPUSH', key, inside)
    elseif index == -2 then
        redis.call('LINSERT', key, 'BEFORE', at(-1), inside)
    else
        redis.call('LINSERT', key, 'AFTER', element, inside)
    end
end

local head = at(0)
if not head then
    return 0
end
for number = 4, #ARGV do
    put(ARGV[number])
end
trim(tonumber(ARGV[1]), tonumber(ARGV[2]))
-- a window that nobody finishes building goes soon
if not building(head) then
    redis.call('PEXPIRE', key, ARGV[3])
end
return redis.call('LLEN', key)
