/**
 * The client as it was before replies, reactions, pinned messages and streams, against the server
 * of today: what it shows equals the answers over HTTP, new fields aside.
 */
import { anyBackend, isFullRun } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { Random } from '../../server/test/support/random.js'
import { createClient } from './fixtures/golden-client.js'
import { AppPlayground, type AppSetup } from './support/app-playground.js'

const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)
const workMs = isFullRun ? 10_000 : 1_000

const apps = {
  memory: ({ token, ...setup }: AppSetup) => createClient({ ...setup, token: () => token }),
}

for (const backend of anyBackend()) {
  describe(`an earlier client on ${backend.name}`, () => {
    it('earlier client: shows what the server answers after random work and cuts', {
      timeout: 300_000,
    }, async () => {
      const options = { backend, random: new Random(seed), users: 3, groups: 2, apps }
      await using playground = await AppPlayground.start(options)
      await playground.run(workMs, async () => playground.cut())
      expect(await playground.settle()).toEqual([])
      expect(await playground.lost()).toEqual([])
    })
  })
}
