/** As `Promise.all`, but waits for all also when one fails, so that nothing goes on behind the back of a run that is over. */
export async function allEnded<T extends readonly unknown[]>(
  running: T,
): Promise<{ -readonly [Place in keyof T]: Awaited<T[Place]> }> {
  await Promise.allSettled(running)
  return Promise.all(running)
}
