import type pg from 'pg'
import type { ConnectionWatch } from './watch.js'

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

/**
 * The class of the pool's clients, with watched connections. A client fails to connect at once
 * while connecting is of no use, so that callers do not repeat a wait that has already failed.
 * @param postgres the module, which is loaded late
 */
export function watchedClients(postgres: typeof pg, watch: ConnectionWatch): typeof pg.Client {
  return class extends postgres.Client {
    constructor(config?: string | pg.ClientConfig) {
      const socket = watch.open()
      super({
        ...(typeof config === 'string' ? { connectionString: config } : config),
        stream: () => socket,
      })
      watch.belongs(this, socket)
    }

    override connect(): Promise<pg.Client>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      // The pool passes a callback.
      if (!callback) return super.connect()
      const { obstacle } = watch
      const connected = callback as (error: Error | null, client: pg.Client) => void
      if (obstacle) {
        this.connection.stream.destroy()
        process.nextTick(connected, obstacle, this)
      } else
        super.connect((error: Error | null) => {
          if (error) watch.refused(error)
          connected(error, this)
        })
      return
    }
  }
}

/** @returns false when there was no answer of any kind within the time; a refusal is one */
export async function answersInTime(
  postgres: typeof pg,
  config: pg.ClientConfig,
  timeoutMs: number,
): Promise<boolean> {
  const client = new postgres.Client(config)
  client.on('error', () => {})
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    client.connection.stream.destroy()
  }, timeoutMs)
  try {
    await client.connect()
    await client.query('select 1')
  } catch {
    return !isLate
  } finally {
    clearTimeout(timer)
    client.connection.stream.destroy()
  }
  return true
}
