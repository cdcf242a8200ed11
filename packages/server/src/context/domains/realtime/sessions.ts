import type { ServerConfig } from '../../../config/config.js'
import { DeviceConnections } from '../../../domain/devices/device-connections.js'
import type { DeviceService } from '../../../domain/devices/device-service.js'
import type { TokenService } from '../../../domain/login/token-service.js'
import { SessionService } from '../../../domain/sessions/session-service.js'
import { callsInProgress, maxFrameBytes } from '../../../gateway/limits.js'
import type { Domain } from '../../domain.js'
import type { Infrastructure } from '../../infrastructure.js'

export function createSessions(
  { database, stores, epoch, sessions, delivery, ids, clock }: Infrastructure,
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
  const { userSessions, pingMs } = config.gateway
  const connections = new DeviceConnections({
    database,
    store: stores.devices,
    devices,
    tokens,
    clock,
  })
  const sessionService = new SessionService({
    devices: connections,
    tokens,
    sessions,
    delivery,
    ids,
    clock,
    sessionsPerUser: userSessions,
    epoch,
  })
  const { transactionTtlMs } = config.messages
  const sessionLimits = { pingMs, maxFrameBytes, callsInProgress, transactionTtlMs }
  return { services: { sessionService, sessionLimits } } satisfies Domain
}
