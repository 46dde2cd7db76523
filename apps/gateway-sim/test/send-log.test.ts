import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { SendLog } from '../src/send-log.ts';
import { TransactionIds } from '../src/transaction-ids.ts';

const acceptance = {
  msgType: 'text',
  senderid: 'SMSGAT',
  units: 1,
  acceptedAt: 1_700_000_000_000,
  price: 1200n,
} as const;

test('two hundred thousand messages: every count agrees with a plain Map', () => {
  const log = new SendLog(10);
  const expected = new Map<string, number>();
  const ids = new Set<string>();
  for (let index = 0; index < 200_000; index++) {
    // A third of all texts and numbers come again.
    const mobile = String(919_000_000_000 + ((index * 7919) % 130_000));
    const text = `Code ${(index * 104_729) % 60_000}`;
    ids.add(log.accept({ ...acceptance, mobiles: [mobile], text }));
    expected.set(`${mobile} ${text}`, (expected.get(`${mobile} ${text}`) ?? 0) + 1);
  }
  expect(ids.size).toBe(200_000);
  const counts = log.counts();
  expect(counts).toMatchObject({ accepted: 200_000, distinct: expected.size, billed: '24000.0000', units: 200_000 });
  for (const [pair, copies] of [...expected].slice(0, 5_000)) {
    const [mobile = '', ...text] = pair.split(' ');
    expect(log.copies(mobile, text.join(' '))).toBe(copies);
  }
  const repeated = [...expected.values()].filter((copies) => copies > 1);
  const duplicates = log.duplicates(1_000_000);
  expect(duplicates.pairs).toBe(repeated.length);
  expect(duplicates.list).toHaveLength(repeated.length);
  expect(duplicates.extraCopies).toBe(counts.duplicates);
});

test('a transaction is found again by its id, with a message id for each recipient', () => {
  const log = new SendLog(1);
  const ids = ['A', 'B', 'C'].map((text) =>
    log.accept({ ...acceptance, mobiles: ['919999999999', '918888888888'], text }),
  );
  const second = log.transaction(ids[1] ?? '');
  expect(second).toMatchObject({ id: ids[1], text: '', messages: [{ mobile: '919999999999' }, { number: 4 }] });
  expect(log.transaction(ids[0] ?? '')?.text).toBe('A');
  expect(new Set(ids.flatMap((id) => log.transaction(id)?.messages.map(({ msgId }) => msgId))).size).toBe(6);
  expect(log.accepted(2, 1)[0]?.sha256).toBe(createHash('sha256').update('B').digest('hex'));
});

test('ids have 19 digits, never repeat, are found again, and differ between runs', () => {
  const ids = new TransactionIds();
  const seen = new Set<string>();
  for (let index = 0; index < 50_000; index++) {
    const id = ids.idOf(index);
    expect(id).toMatch(/^[1-9]\d{18}$/);
    expect(ids.indexOf(id)).toBe(index);
    seen.add(id);
  }
  expect(seen.size).toBe(50_000);
  expect(new TransactionIds().idOf(0)).not.toBe(ids.idOf(0));
  for (const strange of ['', '0', '999', '9999999999999999999', 'x'.repeat(19)]) {
    const index = ids.indexOf(strange);
    expect(index === null || index > 50_000).toBe(true);
  }
});
