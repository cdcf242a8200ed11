import type { CallOptions, View } from '../api.js'
import type { ConnectionStatus } from '../core/live-state.js'
import { ClientError, failureOf } from '../errors.js'

/**
 * Wants a connection, and waits until the client is current.
 * @param ends aborted when the client is closed, with the failure as its reason, and when it is
 *   disconnected; a state `idle` does not say the latter, since a client that learns its user from the
 *   server opens two sessions
 * @throws ClientError when the server refuses, the client is disconnected or closed, or the signal
 *   is aborted
 */
export function connected(
  connection: View<ConnectionStatus>,
  connect: () => void,
  ends: { readonly closing: AbortSignal; readonly disconnecting: AbortSignal },
  { signal }: CallOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    // The end of an earlier try is not the outcome of this one.
    const former = connection.getSnapshot()
    let isStarted = false
    const { closing, disconnecting } = ends
    const settle = (failure?: ConnectionStatus['end']) => {
      unsubscribe()
      signal?.removeEventListener('abort', abort)
      closing.removeEventListener('abort', close)
      disconnecting.removeEventListener('abort', disconnect)
      if (failure) reject(new ClientError(failure))
      else resolve()
    }
    const abort = () => settle(failureOf('aborted', 'the signal was aborted'))
    const close = () => settle(closing.reason)
    const disconnect = () => settle(failureOf('not_connected', 'the client was disconnected'))
    const check = () => {
      const status = connection.getSnapshot()
      const isEnd = status.state === 'ended'
      if (status.state !== 'idle' && (!isEnd || former.state !== 'ended')) isStarted = true
      if (status.state === 'online') settle()
      else if (isEnd && isStarted)
        settle(status.end ?? failureOf('not_connected', 'the connection has ended'))
    }
    const unsubscribe = connection.subscribe(check)
    if (closing.aborted) close()
    else if (signal?.aborted) abort()
    else {
      signal?.addEventListener('abort', abort)
      closing.addEventListener('abort', close)
      disconnecting.addEventListener('abort', disconnect)
      connect()
      check()
    }
  })
}
