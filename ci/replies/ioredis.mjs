// What ioredis makes of CF.INSERT and CF.INSERTNX of a full key. Arguments: port, protocol.
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';

const [port, protocol] = process.argv.slice(2).map(Number);
const { version } = JSON.parse(readFileSync(new URL('node_modules/ioredis/package.json', import.meta.url)));
const client = new Redis(port, { protocol });
console.log('JavaScript: ioredis', version);
console.log(JSON.stringify(await client.call('CF.INSERT', 'insert', 'ITEMS', 'kept', 'new')));
console.log(JSON.stringify(await client.call('CF.INSERTNX', 'insertnx', 'ITEMS', 'kept', 'kept', 'new')));
await client.quit();
