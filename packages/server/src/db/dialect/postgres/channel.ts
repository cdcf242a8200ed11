import type pg from 'pg'
import { loadPostgres, sqlStateOf } from './pool.js'

const connectTimeoutMs = 5_000
const answerTimeoutMs = 5_000
/** The first listener of a database reads all that waits in the queue of notifications, up to 8 GB. */
const listenTimeoutMs = 30_000
const keepAliveDelayMs = 5_000
const send =
  'select pg_notify($1, text) from unnest($2::text[]) with ordinality as texts(text, place) order by place'
/** The SQLSTATE with which PostgreSQL refuses a notification while their queue is full. */
const queueIsFull = '54000'
/**
 * Drops the notifications that all listeners have read. PostgreSQL does that with new ones, which a
 * full queue refuses.
 */
const emptyQueue = 'select pg_notification_queue_usage()'

/** A connection that notifies all others of its schema, itself included. */
export interface Channel {
  /** Sends texts of less than 8,000 bytes, in their order. */
  send(texts: readonly string[]): Promise<void>
  close(): void
}

interface ChannelEvents {
  received(text: string): void
  /** The connection has ended, and was not closed by this process. */
  lost(): void
}

/**
 * Notifications of PostgreSQL between the processes that use one schema of a database, on a
 * connection of its own. They never share a transaction with other statements: a transaction with a
 * notification commits under a lock of the whole server
 * (https://www.postgresql.org/docs/15/sql-notify.html).
 */
export function notificationChannel(url: string) {
  return {
    async open({ received, lost }: ChannelEvents): Promise<Channel> {
      const postgres = await loadPostgres()
      const client = new postgres.Client({
        connectionString: url,
        application_name: 'hermod bus',
        connectionTimeoutMillis: connectTimeoutMs,
        query_timeout: answerTimeoutMs,
        keepAlive: true,
        keepAliveInitialDelayMillis: keepAliveDelayMs,
      })
      let isOpen = false
      // An error without a listener would end the process.
      client.on('error', () => {})
      client.once('end', () => {
        if (isOpen) lost()
      })
      try {
        await client.connect()
        const channel = await channelOf(client)
        client.on('notification', ({ channel: name, payload = '' }) => {
          if (name === channel) received(payload)
        })
        await client.query(emptyQueue)
        const listen = `listen ${client.escapeIdentifier(channel)}`
        await client.query({ text: listen, query_timeout: listenTimeoutMs } as pg.QueryConfig)
        isOpen = true
        return {
          async send(texts) {
            try {
              await client.query(send, [channel, texts])
            } catch (error) {
              if (sqlStateOf(error) === queueIsFull) await client.query(emptyQueue)
              throw error
            }
          },
          close() {
            isOpen = false
            client.connection.stream.destroy()
          },
        }
      } catch (error) {
        client.connection.stream.destroy()
        throw error
      }
    },
  }
}

/**
 * A commit with a notification waits neither for the disk nor for a standby, since others wait for
 * it. The server notices a node that is out of reach or halted: its connection would keep the queue
 * of notifications from being emptied.
 */
const settings = [
  'set synchronous_commit = off',
  'set idle_session_timeout = 0',
  'set tcp_user_timeout = 10000',
  'set tcp_keepalives_idle = 5',
  'set tcp_keepalives_interval = 2',
  'set tcp_keepalives_count = 2',
].join('; ')

/** Prepares the connection. @returns the name of the channel of its schema, which others do not know */
async function channelOf(client: pg.Client): Promise<string> {
  await client.query(settings)
  const { rows } = await client.query<{ name: string }>(
    'select bus_channel as name from database_identity',
  )
  const [row] = rows
  if (row === undefined) throw new Error('the database has no channel for messages between nodes')
  return row.name
}
