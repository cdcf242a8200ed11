import type { ConnectionStatus } from '@hermod/client'

/** Returns the state of the connection in words. */
export function connectionText({ state, retryInMs, end }: ConnectionStatus): string {
  switch (state) {
    case 'online':
      return 'Online'
    case 'syncing':
      return 'Updating …'
    case 'connecting':
      return 'Connecting …'
    case 'offline':
      return retryInMs === undefined
        ? 'No connection'
        : `No connection, next try in ${Math.ceil(retryInMs / 1000)} s`
    case 'idle':
      return 'Offline'
    case 'ended':
      return end === undefined ? 'Ended' : `Ended: ${end.message}`
  }
}
