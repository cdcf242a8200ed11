/**
 * `Promise.all` that waits for all promises even when one rejects, so that no work continues after
 * the run has failed.
 */
export async function allEnded<T extends readonly unknown[]>(
  running: T,
): Promise<{ -readonly [Place in keyof T]: Awaited<T[Place]> }> {
  await Promise.allSettled(running)
  return Promise.all(running)
}
