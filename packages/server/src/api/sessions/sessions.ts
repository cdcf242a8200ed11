import { featureNames, openSession } from '@hermod/protocol'
import type { SessionService } from '../../domain/sessions/session-service.js'
import { data, type Handler, handleConnection } from '../../pipeline/call.js'
import { chargeRowsTo } from '../../pipeline/call-cost.js'

/** The limits of connections, which session.open tells to the client. */
export interface SessionLimits {
  readonly pingMs: number
  readonly maxFrameBytes: number
  readonly callsInProgress: number
  readonly transactionTtlMs: number
}

export function sessionHandlers({
  sessionService,
  sessionLimits,
}: {
  readonly sessionService: SessionService
  readonly sessionLimits: SessionLimits
}): Handler[] {
  return [
    handleConnection(
      openSession,
      async (
        { device_guid: deviceGuid, platform, user_agent: userAgent, pos = '', features = [] },
        { principal, connection, allowance },
      ) => {
        const { appId, userId, deviceSn } = principal
        const tokenHash = principal.kind === 'user' ? principal.tokenHash : null
        const scopes = principal.kind === 'admin' ? principal.scopes : null
        const { session, expiresAt, epoch, openedAt, state } = await sessionService.open(
          { appId, userId, deviceSn, tokenHash, scopes },
          { deviceGuid, platform, userAgent, pos: pos === '' ? null : pos, features },
          connection,
          chargeRowsTo(allowance),
        )
        return data({
          session_id: session.id,
          user_id: userId,
          ...(session.deviceSn === null ? {} : { device_sn: session.deviceSn }),
          epoch,
          ...(state.pos === null ? {} : { pos: state.pos }),
          server_time: openedAt,
          ...(expiresAt === null ? {} : { token_expires_at: expiresAt }),
          ping_ms: sessionLimits.pingMs,
          max_frame: sessionLimits.maxFrameBytes,
          max_in_flight: sessionLimits.callsInProgress,
          transaction_ttl_ms: sessionLimits.transactionTtlMs,
          sync: state.sync,
          features: [...featureNames],
        })
      },
    ),
  ]
}
