/** The questions that nodes ask one another about sessions. */
import type { Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import type { TransientDelivery } from '../delivery/transient-delivery.js'
import { parseOwnJson } from '../lib/json.js'
import type { SessionRegistry } from '../sessions/registry.js'
import type { Session } from '../sessions/session.js'

/** Names a session of a device. */
export interface AskedSession {
  readonly appId: string
  readonly userId: Int64
  readonly id: number
}

/** Kind of the question. */
export type SessionQuestion = AskedSession &
  (
    | /** Pings it. The answer is the time of it, by the clock of the session's node. */
    { readonly ask: 'ping' }
    /** Asks whether anything has come since a ping. */
    | { readonly ask: 'heard'; readonly since: number }
    /** Hands it a notification, which is the text of the question. The answer is whether it was written. */
    | { readonly ask: 'deliver'; readonly badge: number | null }
  )

/** An event with a notification, without its badge. */
export type PushEvent = Extract<TransientEvent, { readonly kind: 'push.notification' }>

interface SessionAnswersOptions {
  readonly sessions: Pick<SessionRegistry, 'ofUser'>
  readonly transient: Pick<TransientDelivery, 'toSession'>
}

/** Answers questions about the sessions of this node. */
export class SessionAnswers {
  constructor(private readonly options: SessionAnswersOptions) {}

  find({ appId, userId, id }: AskedSession): Session | undefined {
    return this.options.sessions.ofUser(appId, userId).find((session) => session.id === id)
  }

  /** Returns the time of the ping, by the clock of the process; null: there is no such session. */
  ping(asked: AskedSession): number | null {
    const session = this.find(asked)
    if (!session) return null
    // Before the ping, so that no answer comes first.
    const at = performance.now()
    session.link.ping()
    return at
  }

  /**
   * Session IDs grow over restarts, so the session of another process has another ID, and its times
   * are not compared.
   */
  heard(asked: AskedSession, since: number): boolean {
    const session = this.find(asked)
    return session !== undefined && session.link.heardAt > since
  }

  deliver(asked: AskedSession, event: PushEvent, badge: number | null): boolean {
    const session = this.find(asked)
    if (!session) return false
    const data = badge === null ? event.data : { ...event.data, badge }
    return this.options.transient.toSession(session, { ...event, data })
  }

  /** @param text of the question */
  answer(question: SessionQuestion, text: string | undefined): number | boolean | null {
    switch (question.ask) {
      case 'ping':
        return this.ping(question)
      case 'heard':
        return this.heard(question, question.since)
      case 'deliver':
        return this.deliver(question, parseOwnJson(text ?? '') as PushEvent, question.badge)
    }
  }
}
