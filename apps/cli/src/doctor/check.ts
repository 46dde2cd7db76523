import { describeFailure } from '../failure.ts';

/**
 * `problem`: something does not work, or is not safe. `warning`: it works, and somebody should know. A problem and a warning
 * say what to do.
 */
export type Check =
  | { readonly check: string; readonly status: 'ok'; readonly detail: string }
  | {
      readonly check: string;
      readonly status: 'warning' | 'problem';
      readonly detail: string;
      readonly remedy: string;
    };

export function ok(check: string, detail: string): Check {
  return { check, status: 'ok', detail };
}

export function warning(check: string, detail: string, remedy: string): Check {
  return { check, status: 'warning', detail, remedy };
}

export function problem(check: string, detail: string, remedy: string): Check {
  return { check, status: 'problem', detail, remedy };
}

/** One check that fails must not keep the others from being made. */
export async function attempt(check: string, run: () => Promise<Check | Check[]>): Promise<Check[]> {
  try {
    return [await run()].flat();
  } catch (error) {
    const [line = ''] = describeFailure(error).split('\n');
    return [
      problem(check, `it could not be checked: ${line}`, 'Connect as sendledger_cli or as the role that migrates.'),
    ];
  }
}
