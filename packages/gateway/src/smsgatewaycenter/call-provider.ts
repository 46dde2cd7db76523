import { classifyFailure } from '../classify-failure.ts';
import type { Transport, TransportReply } from '../transport.ts';
import { callHeaders } from './call-form.ts';
import type { Settings } from './options.ts';

/** A read that has no answer. `detail` holds no message text and no credential. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly detail: string;
}

export function unavailable(detail: string): Unavailable {
  return { kind: 'unavailable', detail };
}

/** Makes one free call, once, and lets `read` judge its complete reply. Does not throw. */
export async function callProvider<Answer>(
  transport: Transport,
  settings: Settings,
  call: { readonly path: string; readonly form: URLSearchParams; readonly signal: AbortSignal | undefined },
  read: (received: TransportReply) => Answer,
): Promise<Answer | Unavailable> {
  try {
    const result = await transport.post({
      url: new URL(`${settings.baseUrl}${call.path}`),
      form: call.form,
      headers: callHeaders(settings),
      budget: null,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    return result.kind === 'reply' ? read(result) : unavailable(classifyFailure(result).detail);
  } catch {
    // A transport that throws, or a reply that breaks our reading of it.
    return unavailable('our own fault while reading');
  }
}
