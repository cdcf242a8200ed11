/** `hermod compact`: space that removed history leaves is given back to the disk. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { callHermod } from '../support/hermod-command.js'
import { addUsers } from '../support/messaging/broadcasts.js'
import { aMoment, keepHistory, Retention } from '../support/messaging/history-retention.js'
import { contents, integrityFaults, sendText } from '../support/messaging/messaging.js'
import { WatchedServer } from '../support/watched-server.js'

const mebibyte = 2 ** 20

describe.each(testBackends())('hermod compact on $name', (backend) => {
  it('makes the file of the embedded database smaller, with the server stopped', async () => {
    await using watched = await WatchedServer.start(backend)
    const { server, settings } = watched
    const compact = () => callHermod(['compact', '--json'], settings)
    if (watched.databaseUrl !== undefined) {
      const refused = await compact()
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('PostgreSQL') })
      return
    }
    await keepHistory(server.api.as(server.operatorToken), 'test', 1)
    const [alice, bob] = await addUsers(server.api.admin(), 2)
    if (!alice || !bob) throw new Error('nobody')
    const long = 'x'.repeat(50_000)
    await Promise.all(Array.from({ length: 200 }, () => sendText(alice.api, bob.id, long)))
    const moment = await aMoment()
    await sendText(alice.api, bob.id, 'kept')
    {
      await using retention = new Retention(watched.place)
      await retention.run('test', moment)
    }
    expect((await compact()).err).toContain('is in use by process')
    await server.stop()
    const { code, out } = await compact()
    expect(code).toBe(0)
    const size = statSync(join(server.dataDir, 'hermod.db')).size
    const done = JSON.parse(out)
    expect(done).toEqual({ bytes_before: expect.any(Number), bytes_after: size })
    expect(done.bytes_before).toBeGreaterThan(9 * mebibyte)
    expect(size).toBeLessThan(3 * mebibyte)
    const again = await watched.startAgain()
    expect(await contents(again.api.admin({ userId: bob.id }), alice.id)).toEqual(['kept'])
    expect(await integrityFaults(again)).toEqual([])
  })
})
