import type { ClientPorts } from '../ports/client-ports.js'
import { systemClock } from '../runtime/system-clock.js'
import { pageStorage } from './page-storage.js'
import { pageWakeups } from './page-wakeups.js'
import { connectWebSocket } from './web-socket.js'
import { xhrUpload } from './xhr-upload.js'

/** Returns what browsers offer a client. */
export function browserPorts(): ClientPorts {
  return {
    clock: systemClock,
    connect: connectWebSocket,
    canConnect: () => typeof WebSocket === 'function',
    upload: xhrUpload,
    wakeups: pageWakeups,
    platform: 'web',
    ...pageStorage(systemClock),
  }
}
