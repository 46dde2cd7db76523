import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { NotSentProof, Outcome, RefusalScope } from '../src/index.ts';
import { startFullListener } from './support/full-listener.ts';
import { atLastMoment, cut, keptConnection, overKept } from './support/keep-alive.ts';
import {
  closedPort,
  hasWholeRequest,
  startHandshakeGate,
  startRawServer,
  TEST_ONLY_CERT,
} from './support/provider-server.ts';
import { refusal, success } from './support/replies.ts';
import { answeredBy, byTlsToServer, REQUEST, type Scene, toNobody, toServer, unseenBy } from './support/scene.ts';
import { adapterFor, fullBudget, handClocks, TXN } from './support/sending.ts';

type Expected =
  | { readonly kind: 'not_sent'; readonly proof: NotSentProof; readonly detail?: string }
  | {
      readonly kind: 'ambiguous';
      readonly unmappedCode?: string;
      readonly providerTxnId?: string;
      readonly detail?: string;
    }
  | { readonly kind: 'refused'; readonly scope: RefusalScope; readonly retryAfterMs?: number }
  | { readonly kind: 'accepted'; readonly providerTxnId: string | null };

interface Row {
  readonly name: string;
  /** What proves the outcome, or why nothing does. */
  readonly why: string;
  readonly scene: () => Scene | Promise<Scene>;
  /** More than one: the fault itself may fall on either side of a border that nobody can see from outside. */
  readonly expected: Expected | readonly [Expected, Expected];
}

function row(name: string, scene: Row['scene'], expected: Row['expected'], why: string): Row {
  return { name, why, scene, expected };
}

const notSent = (proof: NotSentProof, detail?: string): Expected => ({
  kind: 'not_sent',
  proof,
  ...(detail === undefined ? {} : { detail }),
});
const refused = (scope: RefusalScope): Expected => ({ kind: 'refused', scope });
const AMBIGUOUS: Expected = { kind: 'ambiguous' };

const SHORT = 60;
const HANGING_LOOKUP = { lookup: () => {} };
const FAILING_LOOKUP = {
  lookup: (_name: string, _options: object, done: (error: Error, address: string) => void) =>
    setImmediate(done, Object.assign(new Error('try again'), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }), ''),
};

async function blackhole(): Promise<string> {
  return `http://127.0.0.1:${(await startFullListener()).port}`;
}

const BEFORE_A_CONNECTION: readonly Row[] = [
  row(
    'the name does not resolve',
    () => toNobody('http://provider.invalid'),
    notSent('no_name'),
    'no address, so no socket could be made',
  ),
  row(
    'the resolver fails for now',
    () => toNobody('http://provider.test', { transport: FAILING_LOOKUP }),
    notSent('no_name', 'phase lookup, EAI_AGAIN'),
    'the same: without an address there is no socket',
  ),
  row(
    'the lookup times out',
    () => toNobody('http://provider.test', { transport: HANGING_LOOKUP, timeouts: { lookup: SHORT } }),
    notSent('no_name', 'phase lookup, ETIMEDOUT, time-out lookup'),
    'the lookup had not answered, so there was no address',
  ),
  row(
    'the total deadline passes while the name is looked up',
    () => toNobody('http://provider.test', { transport: HANGING_LOOKUP, timeouts: { request: SHORT } }),
    notSent('no_name', 'phase lookup, ETIMEDOUT, time-out request'),
    'the phase decides and not which clock ended it',
  ),
  row(
    'the connection is refused',
    async () => toNobody(`http://127.0.0.1:${await closedPort()}`),
    notSent('no_connection', 'phase connect, ECONNREFUSED'),
    'the SYN was answered with a reset: TCP was never established',
  ),
  row(
    'the name resolves and each of its addresses refuses',
    async () => toNobody(`http://localhost:${await closedPort()}`),
    notSent('no_connection', 'phase connect, ECONNREFUSED'),
    'the same for each address',
  ),
  row(
    'the connect times out',
    async () => toNobody(await blackhole(), { timeouts: { connect: SHORT } }),
    notSent('no_connection', 'phase connect, ETIMEDOUT, time-out connect'),
    'the SYN was never answered: TCP was never established',
  ),
  row(
    'the total deadline passes while connecting',
    async () => toNobody(await blackhole(), { timeouts: { request: SHORT } }),
    notSent('no_connection', 'phase connect, ETIMEDOUT, time-out request'),
    'the phase decides and not which clock ended it',
  ),
  row(
    'it is aborted while connecting',
    async () => toNobody(await blackhole(), { signal: AbortSignal.timeout(SHORT) }),
    notSent('no_connection'),
    'TCP was never established',
  ),
  row(
    'it is aborted before it had a socket',
    async () => unseenBy(await startRawServer(), { signal: AbortSignal.abort() }),
    notSent('no_connection'),
    'no socket was ever assigned to it',
  ),
  row(
    'the connection is reset on accept',
    async () => toServer(await startRawServer({ onConnection: (socket) => socket.resetAndDestroy() })),
    [notSent('no_connection'), AMBIGUOUS],
    'the reset reaches us before or after our side counts as connected, and only before is it a proof',
  ),
  row(
    'the connection is closed on accept',
    async () => toServer(await startRawServer({ onConnection: (socket) => socket.end() })),
    AMBIGUOUS,
    'our side was connected and wrote: the close tells that they write no more, and not that they did not read',
  ),
];

const BEFORE_A_SESSION: readonly Row[] = [
  ...(['TLSv1.2', 'TLSv1.3'] as const).map((version) =>
    row(
      `the certificate is self-signed (${version})`,
      async () => toServer(await startRawServer({ secure: true, version })),
      notSent('no_tls', 'phase tls, DEPTH_ZERO_SELF_SIGNED_CERT'),
      'the handshake never ended on our side, and the request goes out after it',
    ),
  ),
  row(
    'the other side does not speak TLS',
    async () => byTlsToServer(await startRawServer({ onData: (s) => s.end('HTTP/1.1 400 Bad Request\r\n\r\n') })),
    notSent('no_tls'),
    'no session was established',
  ),
  row(
    'the connection is reset inside the handshake',
    async () => byTlsToServer(await startRawServer({ onData: (socket) => socket.resetAndDestroy() })),
    notSent('no_tls'),
    'no session: ECONNRESET with a read proves nothing against it, as a handshake reads and writes',
  ),
  row(
    'the connection is closed inside the handshake',
    async () => byTlsToServer(await startRawServer({ onData: (socket) => socket.end() })),
    notSent('no_tls'),
    'no session was established',
  ),
  row(
    'the handshake hangs',
    async () => byTlsToServer(await startRawServer(), { timeouts: { secureConnect: SHORT } }),
    notSent('no_tls', 'phase tls, ETIMEDOUT, time-out secureConnect'),
    'no session was established',
  ),
  row(
    'the total deadline passes inside the handshake',
    async () => byTlsToServer(await startRawServer(), { timeouts: { request: 1_000 } }),
    notSent('no_tls', 'phase tls, ETIMEDOUT, time-out request'),
    'the phase decides and not which clock ended it',
  ),
  row(
    'it is aborted inside the handshake',
    async () => {
      const stop = new AbortController();
      return byTlsToServer(await startRawServer({ onData: () => stop.abort() }), { signal: stop.signal });
    },
    notSent('no_tls'),
    'no session was established',
  ),
  row(
    'the connection is reset on accept, by https',
    async () => byTlsToServer(await startRawServer({ onConnection: (socket) => socket.resetAndDestroy() })),
    [notSent('no_connection'), notSent('no_tls')],
    'whichever side of connected the reset falls on, there was no session',
  ),
];

/** A process that is stopped between the mark and the first byte sees its clocks jump. */
const BUDGET_SPENT: readonly Row[] = [
  row(
    'the send budget is spent before anything',
    async () => {
      const clocks = handClocks();
      const budget = fullBudget(clocks);
      clocks.advance(5_000);
      return toNobody('http://provider.invalid', { budget });
    },
    notSent('send_budget', 'the budget was spent before the request was made'),
    'we made no request',
  ),
  row(
    'the send budget is spent when a fresh connection is ready',
    async () => {
      const clocks = handClocks();
      const budget = atLastMoment(() => clocks.advance(5_000), fullBudget(clocks));
      return toServer(await startRawServer(), { budget });
    },
    notSent('send_budget', 'phase connect, SEND_BUDGET_SPENT'),
    'we destroyed the request before it was flushed, with an error that nothing else uses',
  ),
  ...(['TLSv1.2', 'TLSv1.3'] as const).map((version) =>
    row(
      `the send budget is spent inside a ${version} handshake`,
      async () => {
        const server = await startRawServer({ secure: true, version });
        const clocks = handClocks();
        const gate = await startHandshakeGate(server, () => clocks.advance(5_000));
        const scene = toServer(server, { budget: fullBudget(clocks), transport: { ca: TEST_ONLY_CERT } });
        return {
          ...scene,
          send: toNobody(gate.url, { budget: fullBudget(clocks), transport: { ca: TEST_ONLY_CERT } }).send,
        };
      },
      notSent('send_budget', 'phase tls, SEND_BUDGET_SPENT'),
      'the same, when the session is ready',
    ),
  ),
  ...[false, true].map((secure) =>
    row(
      `the send budget is spent when a kept connection is taken (${secure ? 'https' : 'http'})`,
      async () => {
        const kept = await keptConnection(secure);
        const clocks = handClocks();
        return overKept(
          kept,
          atLastMoment(() => clocks.advance(5_000), fullBudget(clocks)),
        );
      },
      // The phase says that no new connection was begun.
      notSent('send_budget', 'phase start, SEND_BUDGET_SPENT'),
      'the same; bytes of an earlier request are not bytes of this one',
    ),
  ),
];

const AFTER_THE_CONNECTION: readonly Row[] = [
  ...[false, true].map((secure) =>
    row(
      `a kept connection is closed by the peer before the request is written (${secure ? 'https' : 'http'})`,
      async () => {
        const kept = await keptConnection(secure);
        return overKept(
          kept,
          atLastMoment(() => cut(kept.socket)),
        );
      },
      AMBIGUOUS,
      'nobody read it, yet it went to the kernel: from here that looks like a request that was read and then cut',
    ),
  ),
  ...[false, true].map((secure) =>
    row(
      `a kept connection is closed by the peer after the request was written (${secure ? 'https' : 'http'})`,
      async () => {
        const kept = await keptConnection(secure, (socket, next) => {
          if (hasWholeRequest(next)) cut(socket);
        });
        return overKept(kept, fullBudget());
      },
      AMBIGUOUS,
      'the same error as the row before, and here the request was read whole',
    ),
  ),
  row(
    'the connection is reset after the request was read',
    async () => toServer(await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.resetAndDestroy() })),
    { kind: 'ambiguous', detail: 'phase open, ECONNRESET' },
    'it may have been acted upon',
  ),
  row(
    'the connection is reset after the first bytes of the request',
    async () => toServer(await startRawServer({ onData: (socket) => socket.resetAndDestroy() })),
    AMBIGUOUS,
    'a partial read is very likely refused, which is no proof',
  ),
  row(
    'the connection is closed after the request was read, without a word',
    async () => toServer(await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.end() })),
    AMBIGUOUS,
    'it may have been acted upon',
  ),
  row(
    'the response times out',
    async () => toServer(await startRawServer(), { timeouts: { response: 1_000 } }),
    { kind: 'ambiguous', detail: 'phase open, ETIMEDOUT, time-out response' },
    'FC-01: the provider took it, and our wait ended',
  ),
  row(
    'the total deadline passes while the answer is waited for',
    async () => toServer(await startRawServer(), { timeouts: { request: 1_000 } }),
    { kind: 'ambiguous', detail: 'phase open, ETIMEDOUT, time-out request' },
    'the same, by another clock',
  ),
  row(
    'it is aborted after the request was read',
    async () => {
      const stop = new AbortController();
      const server = await startRawServer({ onData: (_, seen) => hasWholeRequest(seen) && stop.abort() });
      return toServer(server, { signal: stop.signal });
    },
    AMBIGUOUS,
    'it may have been acted upon',
  ),
  row(
    'the response headers come and the body never does',
    async () => {
      const head = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n';
      const server = await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.write(head) });
      return toServer(server, { timeouts: { request: 1_000 } });
    },
    AMBIGUOUS,
    'a status is no acceptance, and no refusal either',
  ),
  row(
    'the connection is reset in the middle of the body',
    async () => {
      const half = `HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n${success()}`;
      const server = await startRawServer({
        onData: (socket, seen) => {
          if (hasWholeRequest(seen)) socket.write(half, () => socket.resetAndDestroy());
        },
      });
      return toServer(server);
    },
    AMBIGUOUS,
    'what came may be a complete success by chance, and the rest of it may say otherwise',
  ),
  row(
    'the compressed body is broken',
    () => answeredBy(200, gzipSync(success()).subarray(0, 40), { 'content-encoding': 'gzip' }),
    AMBIGUOUS,
    'a reply that cannot be unpacked says nothing',
  ),
  row(
    'the answer is not HTTP',
    async () =>
      toServer(await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.end('ok 200 success\r\n\r\n') })),
    AMBIGUOUS,
    'somebody read the request and answered; what it did with it is not said',
  ),
  row(
    'the answer switches protocols',
    async () => {
      const reply = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
      const server = await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.end(reply) });
      return toServer(server);
    },
    { kind: 'ambiguous', detail: 'phase reply, UNEXPECTED_UPGRADE, broken reply, status 101' },
    'no reply to the request at all',
  ),
  row(
    'the answer contradicts its own length',
    async () => {
      const reply = `HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 10\r\n\r\n${success()}`;
      return toServer(await startRawServer({ onData: (s, seen) => hasWholeRequest(seen) && s.end(reply) }));
    },
    AMBIGUOUS,
    "where the reply ends is anybody's guess",
  ),
];

const HTML = '<html><body>502 Bad Gateway</body></html>';
const LISTED: readonly (readonly [string | number, RefusalScope, string])[] = [
  ['216', 'account', 'invalid credentials: nothing of this account passes, and this message did not'],
  [216, 'account', 'the same code, not quoted'],
  ['147', 'permanent', 'a bad boolean: refused before anything was sent, our mistake'],
  ['171', 'permanent', 'text and type do not fit: refused for its content'],
  ['213', 'permanent', 'the user id is missing: refused before anything was sent, our mistake'],
];

const REPLIES: readonly Row[] = [
  row(
    'a success with an id',
    () => answeredBy(200, success()),
    { kind: 'accepted', providerTxnId: TXN },
    'status, code and id agree',
  ),
  row(
    'a success under 202',
    () => answeredBy(202, success()),
    { kind: 'accepted', providerTxnId: TXN },
    'the body decides, under any 2xx',
  ),
  row(
    'a success that calls itself HTML',
    () => answeredBy(200, success(), { 'content-type': 'text/html' }),
    { kind: 'accepted', providerTxnId: TXN },
    'the content type is known to be wrong, the content is parsed',
  ),
  ...['0', '', 'null', '-'].map((id) =>
    row(
      `a success with the id ${JSON.stringify(id)}`,
      () => answeredBy(200, success({ transactionId: id })),
      { kind: 'accepted', providerTxnId: null },
      'accepted in so many words; the id is a sentinel, and the report by days finds it',
    ),
  ),
  ...LISTED.map(([code, scope, why]) =>
    row(`an error with the code ${JSON.stringify(code)}`, () => answeredBy(200, refusal(code)), refused(scope), why),
  ),
  row(
    'an error in the nested form',
    () => answeredBy(200, '{"response":{"status":" ERROR ","code":216,"msg":"Invalid credentials"}}'),
    refused('account'),
    "both families of envelope are the provider's own",
  ),
  row(
    'an error with a code that nobody has mapped',
    () => answeredBy(200, refusal('991')),
    { kind: 'ambiguous', unmappedCode: '991' },
    'well-formed, but what it refuses is not known: held until evidence or a person decides',
  ),
  row(
    'an error that names a transaction',
    () => answeredBy(200, refusal('216', { transactionId: TXN })),
    { kind: 'ambiguous', providerTxnId: TXN },
    'it contradicts itself, something was taken; the provider can be asked by the id',
  ),
  row(
    'a nested error that names a transaction',
    () => answeredBy(200, JSON.stringify({ response: { status: 'error', code: '216', uuId: TXN } })),
    { kind: 'ambiguous', providerTxnId: TXN },
    'the same, under another of the names of a transaction',
  ),
  row(
    'an error without a code',
    () => answeredBy(200, '{"status":"error","message":"slow"}'),
    AMBIGUOUS,
    "many gateways write that; the code is what makes it the provider's",
  ),
  row('an error with the code of success', () => answeredBy(200, refusal('200')), AMBIGUOUS, 'it contradicts itself'),
  row(
    'an error with two codes',
    () => answeredBy(200, refusal('216', { code: '171' })),
    AMBIGUOUS,
    'it contradicts itself',
  ),
  row(
    'a success with another code than 200',
    () => answeredBy(200, success({ statusCode: '201' })),
    { kind: 'ambiguous', providerTxnId: TXN },
    'status and code disagree; the id is where to ask',
  ),
  row(
    'a success without a code',
    () => answeredBy(200, success({ statusCode: undefined })),
    { kind: 'ambiguous', providerTxnId: TXN },
    'success is status and code and id',
  ),
  row(
    'a success without a transaction id',
    () => answeredBy(200, success({ transactionId: undefined })),
    AMBIGUOUS,
    'a send always names its transaction, if only as "0"',
  ),
  row(
    'a success of a read',
    () => answeredBy(200, '{"response":{"status":"success","code":"200","msg":"success"}}'),
    AMBIGUOUS,
    'an answer to another call than ours',
  ),
  row(
    'a success of both forms at once',
    () => answeredBy(200, success({ response: { status: 'success', code: '200' } })),
    { kind: 'ambiguous', providerTxnId: TXN },
    'not of the form of a send',
  ),
  row(
    'two levels that disagree',
    () => answeredBy(200, success({ response: { status: 'error', code: '216' } })),
    { kind: 'ambiguous', providerTxnId: TXN },
    'it contradicts itself',
  ),
  row(
    'a success for other numbers',
    () => answeredBy(200, success({ mobile: '918888888888' })),
    AMBIGUOUS,
    "the answer, and its id, are somebody else's",
  ),
  row(
    'a status word that is neither',
    () => answeredBy(200, success({ status: 'queued' })),
    { kind: 'ambiguous', providerTxnId: TXN },
    'not documented, so not assumed',
  ),
  row(
    'no status at all',
    () => answeredBy(200, success({ status: undefined })),
    AMBIGUOUS,
    "no reply of the provider's form",
  ),
  row(
    'HTML under 200',
    () => answeredBy(200, HTML, { 'content-type': 'text/html' }),
    AMBIGUOUS,
    "seen live: a proxy's page, and the provider behind it may have acted",
  ),
  row(
    'plain text, since `output` was lost',
    () => answeredBy(200, `success | 919999999991 | ${TXN} | 200 | success`),
    AMBIGUOUS,
    'the form of the plain answer is not documented; it is not guessed at',
  ),
  row('nothing under 200', () => answeredBy(200, ''), AMBIGUOUS, 'says nothing'),
  row('nothing under 204', () => answeredBy(204, ''), AMBIGUOUS, 'says nothing'),
  row('a list', () => answeredBy(200, `[${success()}]`), AMBIGUOUS, 'not of a known family'),
  row(
    'JSON that is cut off',
    () => answeredBy(200, success().slice(0, -1)),
    AMBIGUOUS,
    'not complete, although HTTP says that it is',
  ),
  row('JSON with words before it', () => answeredBy(200, `Warning: x in y.php\n${success()}`), AMBIGUOUS, 'not JSON'),
  row('JSON of another form', () => answeredBy(200, '{"ok":true}'), AMBIGUOUS, 'not of a known family'),
];

const HTTP_STATUSES: readonly Row[] = [
  ...[301, 302, 303].map((status) =>
    row(
      `${status}, a redirect`,
      () => answeredBy(status, '', { location: '/SMSApi/send' }),
      AMBIGUOUS,
      'stricter than a definite refusal: applications answer a form that they *have* processed like that',
    ),
  ),
  ...[307, 308].map((status) =>
    row(
      `${status}, a redirect`,
      () => answeredBy(status, '', { location: '/SMSApi/send' }),
      refused('account'),
      'the same request, method kept, is wanted elsewhere, so it was not processed here; we do not follow',
    ),
  ),
  row('304', () => answeredBy(304, ''), AMBIGUOUS, 'makes no sense for a send'),
  ...[400, 404, 405, 413, 415, 422].flatMap((status) => [
    row(
      `${status} without a body of the provider`,
      () => answeredBy(status, HTML),
      AMBIGUOUS,
      "may be a proxy's, which says nothing about the request behind it",
    ),
    row(
      `${status} with a listed code`,
      () => answeredBy(status, refusal('171')),
      refused('permanent'),
      'the provider itself says no',
    ),
    row(
      `${status} with an unlisted code`,
      () => answeredBy(status, refusal('991')),
      { kind: 'ambiguous', unmappedCode: '991' },
      'well-formed, but what it refuses is not known',
    ),
    row(
      `${status} with a success`,
      () => answeredBy(status, success()),
      { kind: 'ambiguous', providerTxnId: TXN },
      'it contradicts itself',
    ),
  ]),
  ...[401, 402, 403].flatMap((status) => [
    row(
      `${status} without a body of the provider`,
      () => answeredBy(status, HTML),
      AMBIGUOUS,
      "stricter than a definite refusal: a proxy's page would stop the account, and prove nothing of the request",
    ),
    row(
      `${status} with a listed code`,
      () => answeredBy(status, refusal('171')),
      refused('permanent'),
      'a mapped code says more than the status',
    ),
    row(
      `${status} with an unlisted code`,
      () => answeredBy(status, refusal('991')),
      refused('account'),
      "the provider's own error, and the status says whom it refuses",
    ),
  ]),
  ...[408, 409].flatMap((status) => [
    row(`${status} without a body of the provider`, () => answeredBy(status, HTML), AMBIGUOUS, 'says nothing'),
    row(
      `${status} with a listed code`,
      () => answeredBy(status, refusal('216')),
      AMBIGUOUS,
      'either side may have given up first (408), or an earlier request is meant (409)',
    ),
  ]),
  ...[425, 429].flatMap((status) => [
    row(
      `${status} without a body of the provider`,
      () => answeredBy(status, HTML, { 'retry-after': '3' }),
      AMBIGUOUS,
      "not documented here: taken for a refusal only in the provider's own words",
    ),
    row(
      `${status} of some other gateway`,
      () => answeredBy(status, '{"status":"error","message":"slow down"}'),
      AMBIGUOUS,
      "no code, so not the provider's",
    ),
    row(
      `${status} with a well-formed error`,
      () => answeredBy(status, refusal('991')),
      refused('throttled'),
      'the provider itself says: too fast',
    ),
    row(
      `${status} with a success`,
      () => answeredBy(status, success()),
      { kind: 'ambiguous', providerTxnId: TXN },
      'it contradicts itself',
    ),
  ]),
  row(
    '429 with Retry-After',
    () => answeredBy(429, refusal('991'), { 'retry-after': '7' }),
    { kind: 'refused', scope: 'throttled', retryAfterMs: 7_000 },
    "the pause is the provider's own wish",
  ),
  ...[500, 501, 502, 503, 504, 505, 520, 599].flatMap((status) => [
    row(
      `${status} with HTML`,
      () => answeredBy(status, HTML),
      AMBIGUOUS,
      'it may fail after it has queued the message, or an intermediary speaks',
    ),
    row(
      `${status} with a well-formed error`,
      () => answeredBy(status, refusal('216'), { 'retry-after': '3' }),
      AMBIGUOUS,
      'stricter than a refusal: nowhere is it documented that this status comes before admission',
    ),
    row(
      `${status} with an error that nobody has mapped`,
      () => answeredBy(status, refusal('991')),
      AMBIGUOUS,
      'the same, and mapping the code could not change it',
    ),
    row(
      `${status} with a success`,
      () => answeredBy(status, success()),
      { kind: 'ambiguous', providerTxnId: TXN },
      'it contradicts itself; the id is where to ask',
    ),
  ]),
];

async function expectRow({ why, scene: arrange, expected }: Row): Promise<void> {
  expect(why).not.toBe('');
  const scene = await arrange();
  const outcome = await scene.send();
  const candidates: readonly Expected[] = 'kind' in expected ? [expected] : expected;
  const wanted = candidates.find((candidate) => candidate.kind === outcome.kind && isProof(candidate, outcome));
  const [first] = candidates;
  expect(outcome).toMatchObject({ ...NOTHING_NAMED[(wanted ?? first)?.kind ?? 'ambiguous'], ...(wanted ?? first) });
  if (scene.requests !== undefined) expect(scene.requests()).toBe(1);
  if (outcome.kind !== 'not_sent') return;
  expect(outcome.proof).not.toBe('');
  await scene.settled();
  expect(scene.requestBytes()).toBe(0);
}

function isProof(expected: Expected, outcome: Outcome): boolean {
  return expected.kind !== 'not_sent' || outcome.kind !== 'not_sent' || expected.proof === outcome.proof;
}

/** What a row that does not speak of it expects. */
const NOTHING_NAMED = {
  not_sent: {},
  ambiguous: { unmappedCode: null, providerTxnId: null },
  refused: {},
  accepted: { rejected: [], unaccounted: [], strangers: [] },
} as const;

describe.each([
  ['before there is a connection', BEFORE_A_CONNECTION],
  ['before there is a TLS session', BEFORE_A_SESSION],
  ['when our own send budget is spent', BUDGET_SPENT],
  ['after the connection was ready', AFTER_THE_CONNECTION],
  ['a complete reply', REPLIES],
  ['a complete reply under another status', HTTP_STATUSES],
] as const)('the outcome %s', (_, rows) => {
  it.each(rows.map((entry) => [entry.name, entry] as const))('%s', (_name, entry) => expectRow(entry));
});

describe('the outcome of a reply that is cut off', () => {
  const body = success();
  const chunks = [body.slice(0, 30), body.slice(30)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n';
  const framings = {
    'by its length': `${head}Content-Length: ${body.length}\r\n\r\n${body}`,
    'in chunks': `${head}Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`,
    'by the end of the connection': `${head}\r\n${body}`,
  };

  it.each(
    Object.entries(framings).flatMap(([framing, reply]) => [
      [framing, 'http', reply] as const,
      [framing, 'https', reply] as const,
    ]),
  )('%s (%s) is ambiguous after every byte but the last', async (_, protocol, reply) => {
    let sent = 0;
    const server = await startRawServer({
      secure: protocol === 'https',
      onData: (socket, seen) => hasWholeRequest(seen) && socket.end(reply.slice(0, sent)),
    });
    const adapter = adapterFor(server.url, {}, { ca: TEST_ONLY_CERT });
    for (sent = 0; sent < reply.length; sent++) {
      const outcome = await adapter.submit(REQUEST, fullBudget());
      expect({ sent, kind: outcome.kind }).toEqual({ sent, kind: 'ambiguous' });
    }
    expect(await adapter.submit(REQUEST, fullBudget())).toMatchObject({ kind: 'accepted', providerTxnId: TXN });
  });
});
