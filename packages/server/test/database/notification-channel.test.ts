import { testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { notificationChannel } from '../../dist/db/dialect/postgres/channel.js'
import { sql } from '../../dist/db/kysely.js'
import { DatabasePlace } from '../support/database/database-place.js'

/** Functions in place of those of PostgreSQL, since a full queue takes 8 GB. */
const fullQueue = [
  'create schema full_queue',
  'create sequence full_queue.emptied',
  `create function full_queue.pg_notify(text, text) returns void language plpgsql as
    $$ begin raise exception 'too many notifications in the NOTIFY queue' using errcode = '54000'; end $$`,
  `create function full_queue.pg_notification_queue_usage() returns double precision language sql as
    $$ select nextval('full_queue.emptied')::double precision $$`,
]

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'notifications between nodes',
  (backend) => {
    let place: DatabasePlace

    beforeAll(async () => {
      place = await DatabasePlace.create(backend)
    })
    afterAll(async () => {
      await place[Symbol.asyncDispose]()
    })

    it('a full queue: is emptied of what all have read, which PostgreSQL leaves there', async () => {
      const { writer } = place.database
      for (const statement of fullQueue) await sql.raw(statement).execute(writer)
      const url = new URL(place.url as string)
      url.searchParams.set('options', '-c search_path=full_queue,pg_catalog,public')
      const channel = await notificationChannel(url.href).open({ received() {}, lost() {} })
      try {
        const emptied = async () =>
          (
            await sql<{
              value: number
            }>`select last_value as value from full_queue.emptied`.execute(writer)
          ).rows[0]?.value
        const before = Number(await emptied())
        await expect(channel.send(['{}'])).rejects.toThrow('too many notifications')
        expect(Number(await emptied())).toBe(before + 1)
      } finally {
        channel.close()
      }
    })
  },
)
