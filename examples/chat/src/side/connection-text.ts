import type { ConnectionStatus } from '@hermod/client'

/** Returns the state of the connection in words. */
export function connectionText({ state, end }: ConnectionStatus): string {
  switch (state) {
    case 'online':
      return 'Online'
    case 'syncing':
      return 'Updating …'
    case 'connecting':
      return 'Connecting …'
    case 'offline':
      return 'No connection, trying again …'
    case 'idle':
      return 'Offline'
    case 'ended':
      return end === undefined ? 'Ended' : `Ended: ${end.message}`
  }
}
