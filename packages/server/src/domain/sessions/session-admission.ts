import { AppError } from '@hermod/protocol'
import type { IdGenerator } from '../../lib/ids/ids.js'
import type { SessionRegistry } from '../../sessions/registry.js'
import type { SessionKey, SessionOpening } from './session-model.js'
import type { SessionWriter } from './session-writer.js'

/** A session that asks to open. */
export type AskedSession = Omit<SessionOpening, 'ownId'>

/** Admits the sessions of this node: counts those of a user and gives each its ID. */
export interface SessionAdmission {
  /**
   * The session that it replaces does not count. Those of the user and those of Admin tokens count
   * apart, so that readers keep no user out.
   * @param isGone tells whether the client has left meanwhile
   * @returns the ID of the session
   * @throws AppError session_limit_reached, storage_failed
   */
  admit(session: AskedSession, isGone: () => boolean): Promise<number>
  /** An admitted session has not opened after all. */
  withdraw(session: SessionKey): void
}

interface AdmissionOptions {
  readonly ids: Pick<IdGenerator, 'next'>
  /** Open sessions of one user. */
  readonly sessionsPerUser: number
}

/** Admission where there is no other node: by the sessions in memory. */
export class SoleAdmission implements SessionAdmission {
  constructor(
    private readonly options: AdmissionOptions & {
      readonly sessions: Pick<SessionRegistry, 'ofUser'>
    },
  ) {}

  async admit({ appId, userId, deviceSn, isReader }: AskedSession): Promise<number> {
    const { ids, sessions, sessionsPerUser } = this.options
    const id = await ids.next()
    const others = sessions
      .ofUser(appId, userId)
      .filter((each) => (each.tokenHash === null) === isReader)
      .filter((each) => deviceSn === null || each.deviceSn !== deviceSn)
    if (others.length >= sessionsPerUser)
      throw new AppError('session_limit_reached', `at most ${sessionsPerUser}`)
    return id
  }

  withdraw(): void {}
}

/** Admission by the rows of all nodes. */
export class SharedAdmission implements SessionAdmission {
  constructor(
    private readonly options: Pick<AdmissionOptions, 'ids'> & {
      readonly writer: Pick<SessionWriter, 'close' | 'open'>
    },
  ) {}

  async admit(session: AskedSession, isGone: () => boolean): Promise<number> {
    const { ids, writer } = this.options
    return writer.open({ ...session, ownId: await ids.next() }, isGone)
  }

  withdraw(session: SessionKey): void {
    this.options.writer.close(session)
  }
}
