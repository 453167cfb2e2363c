# What redis-rb makes of CF.INSERT and CF.INSERTNX of a full key. Argument: port.
require 'redis'

client = Redis.new(port: ARGV[0].to_i)
puts "Ruby: redis-rb #{Redis::VERSION}"
p client.call('CF.INSERT', 'insert', 'ITEMS', 'kept', 'new')
p client.call('CF.INSERTNX', 'insertnx', 'ITEMS', 'kept', 'kept', 'new')
