import type pg from 'pg'
import { Kysely, type Dialect as KyselyDialect } from '../../kysely.js'
import type { ConnectionGuard } from '../dialect.js'
import { ConnectionError } from './connection.js'

/** A source of connections for Kysely's driver. */
export interface ClientSource {
  acquire(): Promise<pg.PoolClient>
  /** @param broken the failure of the connection, which is of no more use then */
  release(client: pg.PoolClient, broken: Error | undefined): void
  close(): Promise<void>
}

/**
 * Lets the service check each new connection before any other statement runs on it. The checks run
 * on that connection, so they wait for no other one.
 */
export class ConnectionGate {
  #guard: ConnectionGuard<Kysely<never>> | null = null

  /** @param dialectOf makes a dialect of connections */
  constructor(private readonly dialectOf: (source: ClientSource) => KyselyDialect) {}

  set(guard: ConnectionGuard<Kysely<never>>): void {
    this.#guard = guard
  }

  /** @throws ConnectionError when no connection may be used */
  requireOpen(): void {
    const refusal = this.#guard?.refusal
    if (refusal) throw new ConnectionError(refusal)
  }

  lost(): void {
    this.#guard?.lost()
  }

  /** @throws ConnectionError when the connection must not be used */
  async admit(client: pg.PoolClient): Promise<void> {
    if (!this.#guard) return
    const source: ClientSource = { acquire: async () => client, release() {}, async close() {} }
    const db = new Kysely<never>({ dialect: this.dialectOf(source) })
    try {
      await this.#guard.admit(db)
    } catch (error) {
      throw error instanceof ConnectionError ? error : new ConnectionError(error)
    } finally {
      await db.destroy()
    }
  }
}
