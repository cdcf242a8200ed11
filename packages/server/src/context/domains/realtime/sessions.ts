import type { ServerConfig } from '../../../config/config.js'
import { DeviceConnections } from '../../../domain/devices/device-connections.js'
import type { DeviceService } from '../../../domain/devices/device-service.js'
import type { TokenService } from '../../../domain/login/token-service.js'
import { sessionPurge } from '../../../domain/sessions/session-purge.js'
import { SessionService } from '../../../domain/sessions/session-service.js'
import { callsInProgress, maxFrameBytes } from '../../../gateway/limits.js'
import { minuteMs } from '../../../lib/clock.js'
import type { Domain } from '../../domain.js'
import type { Infrastructure } from '../../infrastructure.js'

export function createSessions(
  { database, stores, epoch, sessions, admission, delivery, metrics, clock }: Infrastructure,
  {
    config,
    devices,
    tokens,
  }: {
    readonly config: Pick<ServerConfig, 'gateway' | 'messages'>
    readonly devices: DeviceService
    readonly tokens: TokenService
  },
) {
  const { pingMs } = config.gateway
  const connections = new DeviceConnections({
    database,
    store: stores.devices,
    devices,
    tokens,
    clock,
    observer: metrics.storage.batches.devices,
  })
  const sessionService = new SessionService({
    devices: connections,
    tokens,
    sessions,
    admission,
    delivery,
    clock,
    epoch,
  })
  const { transactionTtlMs } = config.messages
  const sessionLimits = { pingMs, maxFrameBytes, callsInProgress, transactionTtlMs }
  const run = sessionPurge({ database, store: stores.sessions })
  return {
    services: { sessionService, sessionLimits, deviceConnections: connections },
    // The embedded database has no rows of sessions.
    maintenanceTasks:
      database.dialect.name === 'postgres'
        ? [{ name: 'closed sessions', intervalMs: minuteMs, run }]
        : [],
  } satisfies Domain
}
