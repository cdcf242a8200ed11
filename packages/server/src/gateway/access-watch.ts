import { setImmediate } from 'node:timers/promises'
import type { Session } from '../sessions/session.js'
import type { Connection } from './connection.js'

/** Apps that are disabled, and Admin tokens that have ended or have a list of scopes. */
export interface EndedAccess {
  readonly apps: ReadonlySet<string>
  readonly adminTokens: ReadonlyMap<string, 'expired' | 'revoked' | ReadonlySet<string>>
}

/** The open sessions. */
export interface SessionsByApp {
  readonly appIds: Iterable<string>
  ofApp(appId: string): Iterable<Session>
}

/** Finds in one statement which of these apps and Admin tokens give no access any more. */
export type FindEndedAccess = (of: {
  readonly apps: readonly string[]
  readonly adminTokens: readonly string[]
}) => Promise<EndedAccess>

const closings = {
  expired: { code: 'tokenExpired', reason: 'the token has expired' },
  revoked: { code: 'tokenRevoked', reason: 'the token is no longer valid' },
  narrowed: { code: 'tokenRevoked', reason: 'the Admin token has lost a scope' },
} as const

/** Connections that are closed in one turn of the event loop. */
const closedPerTurn = 200
const everyMs = 1_000

/**
 * Closes the sessions of disabled apps, and of Admin tokens that have ended or lost a scope, within a
 * second on every node: it reads them and depends on no message of the bus.
 */
export class AccessWatch {
  readonly #byAdminToken = new Map<string, Set<Connection>>()
  #isReading = false
  #readAt = 0

  constructor(
    private readonly sessions: SessionsByApp,
    private readonly findEnded: FindEndedAccess,
  ) {}

  /** Begins to watch a connection with an open session. */
  add(connection: Connection): void {
    const token = adminTokenOfSession(connection)
    if (token === null) return
    const connections = this.#byAdminToken.get(token) ?? new Set()
    this.#byAdminToken.set(token, connections.add(connection))
  }

  remove(connection: Connection): void {
    const token = adminTokenOfSession(connection)
    const connections = token === null ? undefined : this.#byAdminToken.get(token)
    if (token === null || !connections?.delete(connection)) return
    if (connections.size === 0) this.#byAdminToken.delete(token)
  }

  /** Looks once a second. A failure is left to the next look. @param now as performance.now() */
  async check(now: number): Promise<void> {
    if (this.#isReading || now - this.#readAt < everyMs) return
    const apps = [...this.sessions.appIds]
    if (apps.length === 0) return
    this.#isReading = true
    this.#readAt = now
    try {
      await this.#close(await this.findEnded({ apps, adminTokens: [...this.#byAdminToken.keys()] }))
    } catch {
      // The service reports the database.
    } finally {
      this.#isReading = false
    }
  }

  async #close({ apps, adminTokens }: EndedAccess): Promise<void> {
    let closed = 0
    const count = () => (++closed % closedPerTurn === 0 ? setImmediate() : undefined)
    for (const appId of apps)
      for (const { link } of [...this.sessions.ofApp(appId)]) {
        link.close('unknownApplication', 'application_disabled')
        await count()
      }
    for (const [token, access] of adminTokens)
      for (const connection of [...(this.#byAdminToken.get(token) ?? [])]) {
        const ending = endingOf(connection, access)
        if (ending === null) continue
        connection.close(closings[ending].code, closings[ending].reason)
        await count()
      }
  }
}

/** @param access how the token has ended, or the scopes that it has now */
function endingOf(
  { session }: Connection,
  access: 'expired' | 'revoked' | ReadonlySet<string>,
): keyof typeof closings | null {
  if (typeof access === 'string') return access
  const before = session?.scopes ?? null
  return before !== null && [...before].every((scope) => access.has(scope)) ? null : 'narrowed'
}

function adminTokenOfSession({ session, credentials }: Connection): string | null {
  return session?.tokenHash === null ? (credentials?.accessToken ?? null) : null
}
