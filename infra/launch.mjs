// Brings the workspace to a state in which it can run, then starts one program of it under Node 24. Runs on any Node from
// 20 on, before anything is installed, so it is plain JavaScript without dependencies.
//
//   node infra/launch.mjs <program> [arguments]
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const PROGRAMS = {
  demo: ['apps/demo/src/main.ts'],
  test: ['node_modules/vitest/vitest.mjs', 'run'],
  cli: ['apps/cli/src/main.ts'],
  claim: ['apps/claim/src/main.ts'],
  submit: ['apps/submit/src/main.ts'],
  reconcile: ['apps/reconcile/src/main.ts'],
  backfill: ['apps/backfill/src/main.ts'],
  ops: ['apps/ops/src/main.ts'],
  'gateway-sim': ['apps/gateway-sim/src/main.ts'],
  bench: ['test/bench/main.ts'],
  kill: ['test/kill/main.ts'],
};

const [name, ...rest] = process.argv.slice(2);
const program = PROGRAMS[name];
if (program === undefined) {
  process.stderr.write(`launch: no program ${name ?? ''}; one of ${Object.keys(PROGRAMS).join(', ')}\n`);
  process.exit(1);
}
const bin = path.join(root, 'node_modules', '.bin');
const node = path.join(bin, process.platform === 'win32' ? 'node.exe' : 'node');

install();
const child = spawn(node, [...program.map((part, i) => (i === 0 ? path.join(root, part) : part)), ...rest], {
  // Paths among the arguments are the caller's: npm changes the folder to the root, and says where it came from.
  cwd: name === 'test' ? root : (process.env.INIT_CWD ?? root),
  stdio: 'inherit',
  env: { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}` },
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  process.stderr.write(`launch: ${node} cannot be started: ${error.message}\n`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal !== null) process.kill(process.pid, signal);
  else process.exit(code ?? 1);
});

/** Installs unless what is installed is what the lock file says. Says so on standard error: standard output is the program's. */
function install() {
  const marker = path.join(root, 'node_modules', '.sendledger-installed');
  const wanted = createHash('sha256')
    .update(readFileSync(path.join(root, 'pnpm-lock.yaml')))
    .digest('hex');
  if (existsSync(node) && existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return;
  process.stderr.write('sendledger: installing dependencies and Node 24 (once)\n');
  const done = spawnSync('npx', ['--yes', 'pnpm@12.4.2', 'install', '--frozen-lockfile'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, CI: 'true' },
    shell: process.platform === 'win32',
  });
  if (done.status !== 0) {
    process.stderr.write('launch: the installation failed; see above\n');
    process.exit(1);
  }
  writeFileSync(marker, wanted);
}
