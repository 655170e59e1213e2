-- What is in the list of a window? Its elements, oldest first, each one of:
--   size (8) | "T" | first seq (8) | turns (4) | length of turns (4) | length of vectors (4) | turns | vectors
--   size (8) | "B" | token (8)      at the head only: the window is being built, what lies behind it is no whole
-- size is how many bytes were ever put in up to here; the length of the window is a difference of two.
-- This part stands before every script.
local key = KEYS[1]
local HEAD = 8

local function at(index)
    return redis.call('LINDEX', key, index)
end

local function building(element)
    return element:sub(HEAD + 1, HEAD + 1) == 'B'
end

local function span(element)
    local first, count, turns = struct.unpack('>I8I4I4', element, HEAD + 2)
    return first, first + count - 1, turns
end

local function size(element)
    return (struct.unpack('>I8', element))
end

local function sized(bytes, block)
    return struct.pack('>I8', bytes) .. block
end

-- Take whole elements off the old end until the rest has at most so many turns and bytes.
local function trim(most_turns, most_bytes)
    local tail = at(-1)
    local _, last = span(tail)
    local bytes = size(tail)
    while true do
        local head = at(0)
        if not head then
            return
        end
        if building(head) then
            if bytes > most_bytes then
                redis.call('DEL', key)
            end
            return
        end
        local first = span(head)
        if last - first < most_turns and bytes - size(head) + #head <= most_bytes then
            return
        end
        redis.call('LPOP', key)
    end
end

