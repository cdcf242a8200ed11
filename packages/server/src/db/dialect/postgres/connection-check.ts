import type pg from 'pg'
import { ConnectionError } from './connection.js'

interface BackendAnswer {
  readonly backend: number
  readonly lockTimeout: string
}

const question = `select pg_backend_pid() as backend, current_setting('lock_timeout') as "lockTimeout"`

/**
 * The check of new connections for a pooler between the service and PostgreSQL. Each connection has
 * to have a backend of its own, which keeps its prepared statements, and the options of the
 * service.
 */
export class ConnectionCheck {
  /** The process IDs of the backends of open connections. */
  readonly #backends = new Set<number>()

  /** @param setsLockTimeout the options of the connections have a lock_timeout */
  constructor(private readonly setsLockTimeout: boolean) {}

  /** @throws the driver's error; ConnectionError with a sentence for operators */
  async check(client: pg.PoolClient): Promise<void> {
    const { backend, lockTimeout } = await ask(client)
    const { backend: later } = await ask(client)
    if (later !== backend || this.#backends.has(backend))
      throw refusal(
        'a pooler runs the transactions of one connection on several ones of PostgreSQL; let it pool sessions, or name PostgreSQL itself in the URL',
      )
    if (this.setsLockTimeout && lockTimeout === '0')
      throw refusal(
        'PostgreSQL did not get the options of the service, such as lock_timeout, which a pooler has left out; name PostgreSQL itself in the URL, or set them for the role as the guide on scaling says',
      )
    this.#backends.add(backend)
    client.once('end', () => this.#backends.delete(backend))
  }
}

async function ask(client: pg.PoolClient): Promise<BackendAnswer> {
  const { rows } = await client.query<BackendAnswer>(question)
  return rows[0] as BackendAnswer
}

function refusal(sentence: string): ConnectionError {
  return new ConnectionError(new Error(sentence))
}
