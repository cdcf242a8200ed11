import type { ClientPorts } from '../ports/client-ports.js'
import { listenToSleep } from '../runtime/sleep.js'
import { systemClock } from '../runtime/system-clock.js'
import { soloTabs } from '../tabs/solo-tabs.js'
import { fetchUpload } from './fetch-upload.js'
import { connectNodeSocket } from './node-socket.js'

/** The ports of Node: everything is in memory, and each client is alone. */
export const nodePorts: ClientPorts = {
  clock: systemClock,
  connect: connectNodeSocket,
  upload: fetchUpload,
  wakeups: { listen: (listener) => listenToSleep(listener) },
  openTabs: soloTabs,
  platform: 'unknown',
}
