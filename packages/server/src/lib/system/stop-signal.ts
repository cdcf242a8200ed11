interface StopSignalOptions {
  /** Called with the first signal. */
  readonly onSignal?: (signal: NodeJS.Signals) => void
  /** Ends the listening; the signals then end the process as usual. */
  readonly until?: AbortSignal
}

/** Resolves at the first signal to stop; a second one, of any kind, ends the process at once. */
export function stopSignal({ onSignal, until }: StopSignalOptions = {}): Promise<void> {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  return new Promise((resolve) => {
    const leave = () => {
      for (const each of signals) process.off(each, stop)
    }
    const stop = (signal: NodeJS.Signals) => {
      leave()
      onSignal?.(signal)
      resolve()
    }
    for (const signal of signals) process.on(signal, stop)
    until?.addEventListener('abort', leave, { once: true })
  })
}
