import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Where files take longest, the longest first. A long file that begins last keeps one core busy and the others idle; by the size of a
 * file, which is what vitest goes by, the fleets come last: a few lines start many processes.
 */
const LONGEST = [
  'test/end-to-end/',
  'packages/core/test/plans/',
  'packages/core/test/ledger/any-order.test.ts',
  'test/evidence/',
  'apps/demo/',
  'apps/cli/',
  'infra/local/',
  'apps/reconcile/',
  'apps/submit/',
  'packages/core/test/schema/',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = new Map(sorted.map((file) => [file, rankOf(relative(this.ctx.config.root, file.moduleId))]));
    return sorted.toSorted((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
  }
}

function rankOf(path: string): number {
  const place = LONGEST.findIndex((prefix) => path.startsWith(prefix));
  return place === -1 ? LONGEST.length : place;
}
