const LOOK_AGAIN_MS = 25;

/**
 * Waits until `look` answers something, and gives it back. Not a sleep: it goes on as soon as the fact is there, and the
 * test's own time-out ends it when it never is.
 */
export async function until<T>(
  look: () => Promise<T | undefined | null | false> | T | undefined | null | false,
): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}
