-- What redis-lua makes of CF.INSERT and CF.INSERTNX of a full key. Argument: port.
local redis = require 'redis'
redis.commands.insert = redis.command('CF.INSERT')
redis.commands.insertnx = redis.command('CF.INSERTNX')

local function show(values)
    local words = {}
    for i, value in ipairs(values) do words[i] = tostring(value) end
    print('{' .. table.concat(words, ', ') .. '}')
end

local client = redis.connect('127.0.0.1', tonumber(arg[1]))
print('Lua: ' .. redis._VERSION)
show(client:insert('insert', 'ITEMS', 'kept', 'new'))
show(client:insertnx('insertnx', 'ITEMS', 'kept', 'kept', 'new'))
