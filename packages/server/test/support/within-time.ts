/**
 * For properties that take a service through histories of calls: a failure is made shorter for so long and then shown, before the test's
 * own time is over, which is five minutes at least. Whatever is not through by then is a failure too.
 */
export const withinTime = {
  interruptAfterTimeLimit: 240_000,
  markInterruptAsFailure: true,
} as const
