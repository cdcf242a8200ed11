/**
 * Resolves at the first signal to stop; a second one, of any kind, ends the process at once.
 * @param onSignal called with the first signal
 */
export function stopSignal(onSignal?: (signal: NodeJS.Signals) => void): Promise<void> {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      for (const each of signals) process.off(each, stop)
      onSignal?.(signal)
      resolve()
    }
    for (const signal of signals) process.on(signal, stop)
  })
}
