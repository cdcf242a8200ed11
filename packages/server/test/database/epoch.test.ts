/** The epoch of the database: `hermod database new-epoch`. */
import { testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { callHermod } from '../support/hermod-command.js'
import { WatchedServer } from '../support/watched-server.js'

describe.each(testBackends())('epoch of the database on $name', (backend) => {
  it('new-epoch is refused while a node runs, and renews the epoch once it has stopped', async () => {
    await using watched = await WatchedServer.start(backend)
    const { server, settings, sql } = watched
    const epoch = async () => (await sql.run('select epoch from database_identity'))[0]?.epoch
    const before = await epoch()
    const newEpoch = () => callHermod(['database', 'new-epoch', '--json'], settings)
    const refused = await newEpoch()
    expect(refused.code).toBe(1)
    expect(refused.err).toMatch(/is in use by process|stop all nodes/)
    expect(await epoch()).toBe(before)
    await server.stop()
    const { code, out } = await newEpoch()
    expect(code).toBe(0)
    const renewed = JSON.parse(out).epoch
    expect(renewed).not.toBe(before)
    expect(JSON.parse((await newEpoch()).out).epoch).not.toBe(renewed)
  })
})
