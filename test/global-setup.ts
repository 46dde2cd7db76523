import { migrate } from '@sendledger/core/schema';
import { setup } from '@sendledger/local';

/** One server for all tests and one migrated template; each file clones its own database from it. */
export default setup(async (url) => {
  await migrate(url, 'test');
});
