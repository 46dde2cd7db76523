/** A local server could not be found, started or controlled. The message is one line and says what to do about it. */
export class LocalServiceError extends Error {
  override readonly name = 'LocalServiceError';
  readonly service: 'postgres' | 'redis' | 'watchdog';

  constructor(service: 'postgres' | 'redis' | 'watchdog', message: string, options?: ErrorOptions) {
    super(message, options);
    this.service = service;
  }
}

/** One line of text about anything that was thrown. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? text;
}
