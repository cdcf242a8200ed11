/**
 * Stores of clients against the server's answers over HTTP, while real processes, connections and
 * readers fail.
 */
import { anyBackend, isFullRun } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { Random } from '../support/random.js'
import { Playground } from '../support/realtime/playground.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const boxMs = isFullRun ? 12_000 : 1_000
const rounds = isFullRun ? 3 : 1
const timeoutMs = 300_000

describe.each(anyBackend('durable'))('stores of clients on $name', (backend) => {
  it('equal the answers after cuts, kills, halts and paused readers', {
    timeout: timeoutMs,
  }, async () => {
    const random = new Random(seed)
    const options = { backend, random, users: isFullRun ? 8 : 4, groups: 3, window: 5 }
    await using playground = await Playground.start(options)
    expect(await playground.settle()).toEqual([])
    await playground.compareThings()
    for (let round = 0; round < rounds; round++) {
      await playground.run(boxMs, 4, async () => {
        const fault = random.next()
        if (fault < 0.6) playground.cut()
        else if (fault < 0.8) await playground.pause()
        else if (fault < 0.9) await playground.halt()
      })
      if (isFullRun && round === 0) await playground.flood()
      await Promise.all([playground.run(300, 4, async () => {}), playground.kill()])
      expect(await playground.settle()).toEqual([])
      expect(await playground.compareThings()).toEqual([])
      await playground.comeBackWithoutCost()
    }
    report(playground)
  })

  if (isFullRun)
    it('begin again after the restore of an older copy of the data', {
      timeout: timeoutMs,
    }, async () => {
      const options = { backend, random: new Random(seed), users: 4, groups: 3, window: 5 }
      await using playground = await Playground.start(options)
      await playground.run(3_000, 4, async () => playground.cut())
      await playground.backUp()
      await playground.run(3_000, 4, async () => playground.cut())
      expect(await playground.settle()).toEqual([])
      await playground.compareThings()
      await playground.restore()
      await playground.run(3_000, 4, async () => playground.cut())
      expect(await playground.settle()).toEqual([])
      expect(await playground.compareThings()).toEqual([])
      await playground.comeBackWithoutCost()
      report(playground)
    })
})

function report({ work, clients, faults }: Playground): void {
  const total = (name: keyof (typeof clients)[0]['counts']) =>
    clients.reduce((sum, { counts }) => sum + counts[name], 0)
  console.log(
    `seed ${seed}: ${work.calls} calls, ${work.answered.size} messages, ${work.recalls} recalls; ${[...faults].map(([name, count]) => `${count} ${name}`).join(', ')};`,
    `${clients.length} clients, ${total('connections')} connections, ${total('syncs')} syncs, ${total('heads')} heads, ${total('gaps')} gaps, ${total('skips')} skips, ${total('frames')} frames`,
  )
}
