<?php
// What predis makes of CF.INSERT and CF.INSERTNX of a full key. Argument: port.
require 'Predis/Autoloader.php';
Predis\Autoloader::register();
$client = new Predis\Client(['host' => '127.0.0.1', 'port' => $argv[1]]);
echo 'PHP: predis ', Predis\Client::VERSION, "\n";
echo json_encode($client->executeRaw(['CF.INSERT', 'insert', 'ITEMS', 'kept', 'new'])), "\n";
echo json_encode($client->executeRaw(['CF.INSERTNX', 'insertnx', 'ITEMS', 'kept', 'kept', 'new'])), "\n";
