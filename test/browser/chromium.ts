import { accessSync, constants } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The Chromium of this machine, `SENDLEDGER_CHROMIUM` first; null: there is none. */
export function findChromium(): string | null {
  const given = process.env.SENDLEDGER_CHROMIUM;
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const candidates = [
    ...(given === undefined || given === '' ? [] : [given]),
    ...NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name))),
  ];
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** With nothing that talks to anybody by itself; playwright gives it a fresh profile. */
export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Sizes at which a person looks at it. */
export const WIDTHS = {
  desktop: { width: 1280, height: 900 },
  phone: { width: 390, height: 844 },
} as const;

const FOLDER = process.env.SENDLEDGER_SCREENSHOTS ?? path.join(tmpdir(), 'sendledger-screenshots');

/** Keeps how a page looks at each size, in a folder outside of the repository, and that nothing hangs over its edge. */
export async function keepLooks(
  page: Page,
  name: string,
  seen: (widths: Record<string, number>) => void,
): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const over: Record<string, number> = {};
  for (const [size, viewport] of Object.entries(WIDTHS)) {
    await page.setViewportSize(viewport);
    over[size] = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    await page.screenshot({ path: path.join(FOLDER, `${name}-${size}.png`), fullPage: true });
  }
  await page.setViewportSize(WIDTHS.desktop);
  seen(over);
}
