import type { CloseName, Int64 } from '@hermod/protocol'
import type { Event, EventKind } from '@hermod/protocol/events'
import type { Session } from '../../sessions/session.js'

interface ClosingsOptions {
  sessionsOf(userId: Int64): readonly Session[]
  /** Tests whether a token has ended. */
  isRevoked(tokenHash: string): Promise<boolean>
}

/** Events that end sessions. */
type ClosingEvent = Extract<
  Event,
  {
    kind:
      | 'user.kicked'
      | 'user.device_removed'
      | 'user.password_changed'
      | 'user.frozen'
      | 'user.removed'
  }
>

/** Closes the sessions that an event ends. */
export class Closings {
  constructor(private readonly options: ClosingsOptions) {}

  apply(event: Event<EventKind>): void {
    const closing = closingOf(event as ClosingEvent)
    if (!closing) return
    for (const userId of (event as ClosingEvent).payload.user_ids)
      for (const session of this.options.sessionsOf(userId))
        if (closing.ends(session)) this.#close(session, closing)
  }

  /** A session that was opened after the event has another token, which holds. */
  #close(session: Session, { code, reason, isChecked }: Closing): void {
    const close = (by: CloseName, why: string) => {
      // It receives nothing more.
      session.phase = 'ended'
      session.link.close(by, why)
    }
    if (!isChecked || session.tokenHash === null) {
      close(code, reason)
      return
    }
    this.options.isRevoked(session.tokenHash).then(
      (isRevoked) => {
        if (isRevoked) close(code, reason)
      },
      // The client comes back, and is refused if its token has ended.
      () => close('serverError', 'server_error'),
    )
  }
}

interface Closing {
  readonly code: CloseName
  readonly reason: string
  /** True: only sessions with a revoked token are closed. */
  readonly isChecked: boolean
  ends(session: Session): boolean
}

/** A session of an Admin token is no login, so a kick and another password do not end it. */
const isLogin = ({ tokenHash }: Session) => tokenHash !== null
const isAny = () => true

function closingOf(event: ClosingEvent): Closing | null {
  switch (event.kind) {
    case 'user.kicked': {
      const { device_sn: deviceSn } = event.payload
      const ends = deviceSn === undefined ? isLogin : isSessionOf(deviceSn)
      return { code: 'kicked', reason: 'kicked', isChecked: true, ends }
    }
    case 'user.device_removed': {
      const ends = isSessionOf(event.payload.device_sn)
      return { code: 'kicked', reason: 'device_removed', isChecked: true, ends }
    }
    case 'user.password_changed':
      return { code: 'tokenRevoked', reason: 'password_changed', isChecked: true, ends: isLogin }
    case 'user.frozen':
      return { code: 'userDisabled', reason: 'user_disabled', isChecked: false, ends: isAny }
    case 'user.removed':
      return { code: 'userDeleted', reason: 'user_deleted', isChecked: false, ends: isAny }
    default:
      return null
  }
}

/** A session without a device may have a token of this one, so it is checked too. */
function isSessionOf(deviceSn: number): (session: Session) => boolean {
  return (session) =>
    session.deviceSn === deviceSn || (session.deviceSn === null && isLogin(session))
}
