import { withClient } from '../../src/database.ts';
import { setup } from '../../src/index.ts';

export default setup((url) =>
  withClient(url, async (client) => {
    await client.query('create table thing (id int)');
  }),
);
