import { expect, it } from 'vitest'
import { stopSignal } from './stop-signal.js'

const listeners = () =>
  ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => process.listenerCount(signal))

it('listens for signals to stop until its end', () => {
  const before = listeners()
  const ending = new AbortController()
  void stopSignal({ until: ending.signal })
  expect(listeners()).toEqual(before.map((count) => count + 1))
  ending.abort()
  expect(listeners()).toEqual(before)
})
