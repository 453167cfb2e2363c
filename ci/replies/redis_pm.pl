# What Redis.pm makes of CF.INSERT and CF.INSERTNX of a full key. Argument: port.
use strict;
use warnings;
use Redis;

my $client = Redis->new(server => "127.0.0.1:$ARGV[0]");
print "Perl: Redis.pm $Redis::VERSION\n";
my @added = $client->__std_cmd('CF.INSERT', 'insert', 'ITEMS', 'kept', 'new');
print '[', join(', ', map { defined ? "'$_'" : 'undef' } @added), "]\n";
@added = $client->__std_cmd('CF.INSERTNX', 'insertnx', 'ITEMS', 'kept', 'kept', 'new');
print '[', join(', ', map { defined ? "'$_'" : 'undef' } @added), "]\n";
