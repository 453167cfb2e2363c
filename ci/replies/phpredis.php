<?php
// What php-redis makes of CF.INSERT and CF.INSERTNX of a full key. Argument: port.
$client = new Redis();
$client->connect('127.0.0.1', (int) $argv[1]);
echo 'PHP: php-redis ', phpversion('redis'), "\n";
echo json_encode($client->rawCommand('CF.INSERT', 'insert', 'ITEMS', 'kept', 'new')), "\n";
echo json_encode($client->rawCommand('CF.INSERTNX', 'insertnx', 'ITEMS', 'kept', 'kept', 'new')), "\n";
