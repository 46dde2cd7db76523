import { describe, expect, it } from 'vitest';
import { startProvider } from './support/provider-server.ts';
import { adapterFor, fullBudget, requestTo, TXN } from './support/sending.ts';

const A = '919999999991';
const B = '919999999992';
const C = '919999999993';

async function accountFor(recipients: readonly string[], lists: Record<string, unknown>) {
  const reply = { status: 'success', transactionId: TXN, statusCode: '200', reason: 'success', ...lists };
  const server = await startProvider((_, response) => response.end(JSON.stringify(reply)));
  const adapter = adapterFor(server.url, {}, {}, { maxRecipients: 1000 });
  return adapter.submit(requestTo(recipients), fullBudget());
}

describe('numbers refused inside a success', () => {
  it('are found among 1000, given back with ten digits', async () => {
    const recipients = Array.from({ length: 1000 }, (_, i) => `${919000000000 + i}`);
    const outcome = await accountFor(recipients, {
      mobile: recipients.join(','),
      invalidMobile: '9000000000,9000000500,9000000999',
    });
    expect(outcome).toMatchObject({
      kind: 'accepted',
      rejected: ['919000000000', '919000000500', '919000000999'],
      unaccounted: [],
      strangers: [],
    });
  });

  it.each(['9999999992', '09999999992', '919999999992', '+91 99999 99992', ' 00919999999992 '])(
    'are matched however they are spelt: %s',
    async (spelling) => {
      expect(await accountFor([A, B], { mobile: '', invalidMobile: spelling })).toMatchObject({
        rejected: [B],
        unaccounted: [],
        strangers: [],
      });
    },
  );

  it('raise an alarm where they are not ours, and the rest is kept', async () => {
    const outcome = await accountFor([A, B], { mobile: '', invalidMobile: `918888888888,${A},junk` });
    expect(outcome).toMatchObject({ rejected: [A], strangers: ['918888888888', 'junk'], unaccounted: [] });
  });

  it.each(['98xxxxxx01', '91XXXXXXXX12', '91******12'])(
    'leave everybody unknown where one is masked: %s',
    async (masked) => {
      expect(await accountFor([A, B], { mobile: '', invalidMobile: masked })).toMatchObject({
        rejected: [],
        unaccounted: [A, B],
      });
    },
  );

  it('leave everybody unknown when the list cannot be read', async () => {
    expect(await accountFor([A, B], { invalidMobile: { 0: A } })).toMatchObject({ rejected: [], unaccounted: [A, B] });
  });

  it('may be all of them', async () => {
    const outcome = await accountFor([A, B], { mobile: '', invalidMobile: `${A},${B}`, transactionId: '0' });
    expect(outcome).toMatchObject({ kind: 'accepted', providerTxnId: null, rejected: [A, B], unaccounted: [] });
  });
});

describe('the echo of the accepted numbers', () => {
  it.each([undefined, '', '0', null])('accounts for everybody when it is %j', async (mobile) => {
    expect(await accountFor([A, B, C], { mobile, invalidMobile: B })).toMatchObject({ rejected: [B], unaccounted: [] });
  });

  it('leaves unknown who is in neither list', async () => {
    expect(await accountFor([A, B, C], { mobile: '09999999991', invalidMobile: B })).toMatchObject({
      rejected: [B],
      unaccounted: [C],
    });
  });

  it.each(['91999999XXXX,91999999XXXX', '3 numbers', `${A},…`])(
    'says nothing when it is no list of numbers: %s',
    async (mobile) => {
      expect(await accountFor([A, B, C], { mobile })).toMatchObject({ rejected: [], unaccounted: [] });
    },
  );

  it('yields to the refusal of the same number', async () => {
    expect(await accountFor([A, B], { mobile: `${A},${B}`, invalidMobile: B })).toMatchObject({ rejected: [B] });
  });
});
