/** Floods while the disk is full; what becomes of the messages is in faults.test.ts. */
import { join } from 'node:path'
import { startServer, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { attackMs, expectUnharmed, flood, Honest } from '../support/attack.js'
import { becomesReady } from '../support/database/fault-subject.js'
import { SmallDisk } from '../support/database/system-faults.js'
import { textTo } from '../support/messaging/messaging.js'

describe.runIf(testBackends('durable').some(({ name }) => name === 'sqlite'))('full disk', () => {
  it('a full disk: hundreds of sends are refused, readers are served, memory stays bounded', async ({
    skip,
  }) => {
    const disk = SmallDisk.mount(24)
    if (typeof disk === 'string') return skip(disk)
    using _ = disk
    await using server = await startServer({ dataDir: join(disk.path, 'data') })
    const honest = await Honest.on(server)
    const [carol, dave] = [await server.api.newSession(), await server.api.newSession()]
    expect((await honest.send('before it')).code).toBe(200)
    const free = disk.fill()
    await becomesReady(server, false)
    const body = textTo([dave.id], 'x'.repeat(32_768))
    const send = () => carol.api.call('POST', '/message/send', { body })
    let codes = new Map<number, number>()
    const attack = async () => {
      codes = await flood({ ms: attackMs, lines: 200 }, send)
    }
    const reads = () => dave.api.call('GET', '/user/profile')
    expectUnharmed(await honest.watching('sends on a full disk (sqlite)', attack, { reads }))
    // What fits into the rest of a page may be stored.
    expect(codes.get(answerCode.storage_failed)).toBeGreaterThan(0)
    await becomesReady(server, false)
    free()
    await becomesReady(server, true, 30_000)
    expect((await honest.send('after it')).code).toBe(200)
  })
})
