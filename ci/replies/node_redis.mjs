// What node-redis makes of CF.INSERT and CF.INSERTNX of a full key. Arguments: port, protocol.
import { readFileSync } from 'node:fs';
import { createClient } from 'redis';

const [port, protocol] = process.argv.slice(2).map(Number);
const { version } = JSON.parse(readFileSync(new URL('node_modules/redis/package.json', import.meta.url)));
const client = await createClient({ url: `redis://127.0.0.1:${port}`, RESP: protocol }).connect();
console.log('JavaScript: node-redis', version);
console.log(JSON.stringify(await client.cf.insert('insert', ['kept', 'new'])));
console.log(JSON.stringify(await client.cf.insertNX('insertnx', ['kept', 'kept', 'new'])));
await client.close();
