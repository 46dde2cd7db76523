import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { executableBinDir, packagedBinDir, serverAccount } from '../src/postgres-binaries.ts';

test('the packaged binaries are used where they are when the account can run them', async () => {
  const packaged = packagedBinDir();
  expect(await executableBinDir(packaged, await serverAccount(), '/nowhere')).toBe(packaged);
});

test.runIf(process.getuid?.() === 0)('root with a clone in a closed folder runs a copy', async () => {
  const closed = await mkdtemp(join(tmpdir(), 'closed-'));
  const open = await mkdtemp(join(tmpdir(), 'open-'));
  try {
    await chmod(open, 0o755);
    await cp(join(packagedBinDir(), '..'), join(closed, 'native'), { recursive: true, dereference: true });
    const binDir = await executableBinDir(join(closed, 'native', 'bin'), await serverAccount(), open);
    expect(binDir).toBe(join(open, 'native', 'bin'));
  } finally {
    await rm(closed, { recursive: true });
    await rm(open, { recursive: true });
  }
});
