// A dependency rule that reads nothing passes. This plants a violation of each rule in a copy of the layout and fails unless
// each one is found, and unless the real tree was really read.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
const cruise = path.join(root, 'node_modules', '.bin', 'depcruise');

function run(cwd, folders) {
  const done = spawnSync(cruise, ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...folders], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  return JSON.parse(done.stdout);
}

const real = run(root, ['apps', 'packages', 'test']);
if (real.summary.totalCruised < 100) fail(`only ${real.summary.totalCruised} modules were read`);

const PLANTS = {
  'packages/core/src/index.ts': "import '../../worker/src/index.ts';",
  'packages/worker/src/index.ts': "import '../../gateway/src/index.ts';",
  'packages/gateway/src/index.ts': "import '../../core/src/ledger/sql.ts';",
  'packages/core/src/ledger/sql.ts': 'export {};',
  'packages/producer/src/index.ts': "import '../../worker/src/index.ts';",
  'apps/claim/src/main.ts': "import '../../submit/src/main.ts';",
  'apps/submit/src/main.ts': "import './other.ts';",
  'apps/submit/src/other.ts': "import './main.ts';\nimport '../test/scene.ts';\nimport './absent.ts';",
  'apps/submit/test/scene.ts': 'export {};',
  'apps/gateway-sim/src/main.ts': "import '../../../packages/gateway/src/index.ts';",
};
const copy = mkdtempSync(path.join(tmpdir(), 'dependency-rule-'));
try {
  cpSync(path.join(root, '.dependency-cruiser.cjs'), path.join(copy, '.dependency-cruiser.cjs'));
  writeFileSync(path.join(copy, 'package.json'), '{ "type": "module" }');
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  for (const [file, text] of Object.entries(PLANTS)) {
    mkdirSync(path.dirname(path.join(copy, file)), { recursive: true });
    writeFileSync(path.join(copy, file), `${text}\n`);
  }
  const found = new Set(run(copy, ['apps', 'packages']).summary.violations.map((v) => v.rule.name));
  const wanted = [
    'core-stands-alone',
    'gateway-knows-no-database',
    'producer-imports-core-only',
    'worker-imports-core-only',
    'apps-do-not-import-apps',
    'the-simulator-shares-no-code-with-the-adapter',
    'no-cycles',
    'no-test-code-in-source',
    'nothing-unresolvable',
  ];
  const silent = wanted.filter((rule) => !found.has(rule));
  if (silent.length > 0) fail(`these rules did not find what was planted for them: ${silent.join(', ')}`);
  process.stdout.write(`dependency rules: ${real.summary.totalCruised} modules read, ${wanted.length} rules bite\n`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}

function fail(why) {
  process.stderr.write(`dependency rules: ${why}\n`);
  process.exit(1);
}
