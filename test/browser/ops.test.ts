import { openReview, pauseRoute, rowsOf } from '@sendledger/core/ledger';
import { type GatewaySim, startGatewaySim } from '@sendledger/gateway-sim';
import { test as base } from '@sendledger/local/fixtures';
import type { Browser, Page } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import { endAllApps, startApp } from '../support/app-process.ts';
import { enqueueMany, furnish, openRows, statesOf, urls } from '../support/house.ts';
import { until } from '../support/settled.ts';
import { findChromium, keepLooks, launch } from './chromium.ts';

const CHROMIUM = findChromium();
const WHY_NOT = 'no chromium on this machine: install it, or name it in SENDLEDGER_CHROMIUM';
// Where everything must be shown, absence is a failure and not a skipped test.
const MUST = Boolean(process.env.CI);

afterAll(endAllApps);

interface Window {
  readonly page: Page;
  readonly url: string;
  /** Where the page asked for something that was not ours, and what it complained about. */
  readonly foreign: readonly string[];
  readonly complaints: readonly string[];
}

/** The fleet at work on a simulated provider, ops beside it on the same database, and a browser that looks at ops. */
const test = base.extend(
  'window',
  { scope: 'file' },
  async ({ database, redisUrl }, { onCleanup }): Promise<Window> => {
    const sim: GatewaySim = await startGatewaySim({ failMobile: /7$/, deliveryMs: { min: 20, max: 200 } });
    const routeId = await furnish(database);
    const url = urls(database);
    const redis = { REDIS_URL: redisUrl };
    startApp('claim', { ...redis, DATABASE_URL: url.claim });
    startApp('submit', { ...redis, DATABASE_URL: url.submit, SMSGATEWAYCENTER_BASE_URL: sim.url });
    startApp('reconcile', { ...redis, DATABASE_URL: url.reconcile, SMSGATEWAYCENTER_BASE_URL: sim.url });
    const ops = startApp('ops', { ...redis, DATABASE_URL: url.ops });
    await enqueueMany(database, 40);
    await enqueueMany(database, 10, { class: 'otp', from: 100, body: (i) => `Your code is ${400_000 + i}` });
    await until(async () => (await openRows(database)) === 0);
    await pauseRoute(database.pool, routeId, 'maintenance of the provider, until noon');
    await enqueueMany(database, 7, { class: 'promotional', from: 200 });
    await openReview(database.pool, { kind: 'unmapped_status', subject: 'smsgatewaycenter PARKED', evidence: {} });

    const browser: Browser = await launch(CHROMIUM ?? '');
    onCleanup(async () => {
      await browser.close();
      await sim.close();
    });
    const page = await browser.newPage();
    const origin = String((await ops.saw((line) => line.event === 'started')).health);
    const foreign: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:')) foreign.push(request.url());
    });
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return { page, url: origin, foreign, complaints };
  },
);

/** The cell of a row and a column, as a person reads it. */
const cell = (page: Page, row: string, column: string) =>
  page.locator(`tr:has(td:text-is("${row}")) td[data-title="${column}"]`).first().textContent();

const noOverhang = (over: Record<string, number>) => expect(over).toEqual({ desktop: 0, phone: 0 });

if (CHROMIUM === null && !MUST)
  base("the operator's window, in a real browser", ({ skip }) => {
    process.stderr.write(`skipped: ${WHY_NOT}\n`);
    skip(WHY_NOT);
  });

describe.runIf(CHROMIUM !== null || MUST)("the operator's window, in a real browser", () => {
  test('the fleet at work, a message found and read, the queues looked at', async ({
    window: look,
    database,
    skip,
  }) => {
    if (CHROMIUM === null && !MUST) skip(WHY_NOT);
    const { page, url, foreign, complaints } = look;
    const states = await statesOf(database);

    await page.goto(url);
    // The page renews itself until the census has counted what came last.
    await until(async () => (await cell(page, 'promotional · sms', 'pending')) === '7');
    const shown = async (state: string) =>
      Number(await cell(page, 'transactional · sms', state)) + Number(await cell(page, 'otp · sms', state));
    expect(await shown('delivered')).toBe(states.delivered);
    expect(await shown('failed')).toBe(states.failed);
    expect(await page.getByText('maintenance of the provider').count()).toBe(1);
    expect(await cell(page, 'reconcile', 'Alive')).toBe('1');
    await keepLooks(page, 'overview', noOverhang);
    await page.emulateMedia({ colorScheme: 'dark' });
    await keepLooks(page, 'overview-dark', noOverhang);
    await page.emulateMedia({ colorScheme: 'light' });

    const [wanted] = await rowsOf<{ id: string; recipient: string; provider_message_id: string }>(
      database.pool,
      `select id, recipient, provider_message_id from sendledger.outbound_message
       where state = 'delivered' and message_class = 'transactional' and provider_message_id is not null order by id limit 1`,
    );
    await page.getByRole('link', { name: 'Messages' }).click();
    await keepLooks(page, 'messages', noOverhang);
    await page.getByRole('searchbox').fill(wanted?.provider_message_id ?? '');
    await page.getByRole('button', { name: 'Find' }).click();
    expect(new URL(page.url()).pathname).toBe(`/messages/${wanted?.id}`);
    const steps = await page.locator('ol.story li b').allInnerTexts();
    expect(steps.slice(0, 5)).toEqual(['enqueued', 'claimed', 'quoted', 'marked', 'reply']);
    expect(steps).toContain('receipt');
    expect(steps.at(-1)).toBe('delivered');
    await page.locator('details summary').first().click();
    await keepLooks(page, 'story', noOverhang);
    expect(await page.content()).not.toContain(wanted?.recipient);
    await page.getByRole('link', { name: 'Show numbers' }).click();
    expect(await page.content()).toContain(wanted?.recipient);

    await page.goto(`${url}/messages?q=${encodeURIComponent(String(wanted?.recipient))}`);
    await page.goto(`${url}/queues`);
    await page.getByText('wake-ups, not messages').waitFor();
    await page.getByText('claim', { exact: false }).nth(1).waitFor();
    await page.waitForLoadState('networkidle');
    await keepLooks(page, 'queues', () => undefined);
    await page.goto(`${url}/queues/queue/submit`);
    await page.waitForLoadState('networkidle');
    await keepLooks(page, 'queue', () => undefined);
    for (const name of [/^pause/i, /^add job/i, /^obliterate/i, /^empty/i, /^retry/i, /^promote/i])
      expect(await page.getByRole('button', { name }).count(), String(name)).toBe(0);
    const refused = await page.evaluate(
      `fetch('/queues/api/queues/submit/pause', { method: 'PUT' }).then((r) => r.status)`,
    );
    expect(refused).toBe(405);
    await page.getByRole('link', { name: 'What waits is on the overview' }).click();
    expect(new URL(page.url()).pathname).toBe('/');

    expect(foreign).toEqual([]);
    // The one that was asked for above.
    expect(complaints.filter((text) => !text.includes('405'))).toEqual([]);
  });

  test('without script the page renews itself as a whole', async ({ window: { page, url } }) => {
    const browser = page.context().browser();
    const plain = await browser?.newContext({ javaScriptEnabled: false });
    const still = await plain?.newPage();
    await still?.goto(url);
    expect(await still?.locator('noscript meta[http-equiv=refresh]').count()).toBe(1);
    expect(await still?.getByText('Open now').count()).toBe(1);
    await plain?.close();
  });
});
