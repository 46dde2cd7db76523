// Starts both servers, says where they are, and stays: the reaper test kills it without warning.
import { dirname } from 'node:path';
import { startPostgres, startRedis } from '../../src/index.ts';

const postgres = await startPostgres({ only: 'embedded' });
const redis = await startRedis({ only: 'private' });
// After a restart the watchdog must know the new processes, not the old.
await postgres.crash();
await postgres.restart();
await redis.restart();
const directory = dirname(postgres.dataDir);
process.stdout.write(`${JSON.stringify({ postgres: postgres.pid, redis: redis.pid, directory })}\n`);
if (process.argv[2] === 'return') process.exit(0);
setInterval(() => undefined, 1000);
