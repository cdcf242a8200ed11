/** Which tokens end when their gateway calls them dead, on both databases (rule G8). */
import { anyBackend } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PushBindingStore } from '../../dist/domain/devices/push-binding-store.js'
import { DatabasePlace } from '../support/database/database-place.js'

const device = { appId: 'test', userId: 7, deviceSn: 1 }
const bound = { notifierName: 'phones', deviceToken: 'a' }
const boundAt = 1_000

describe.each(anyBackend())('tokens on $name', (backend) => {
  let place: DatabasePlace
  let store: PushBindingStore

  beforeAll(async () => {
    place = await DatabasePlace.create(backend)
    store = new PushBindingStore(place.database)
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  /**
   * Binds the token and has the gateway call one dead.
   * @returns whether it went, and whether the token is still bound
   */
  async function clear(
    which: Partial<typeof bound & typeof device>,
    boundBefore: number,
  ): Promise<{ isCleared: boolean; isBound: boolean }> {
    return place.database.transaction(async (tx) => {
      await store.bind(tx, device, bound, boundAt)
      const named = { ...device, ...bound, ...which }
      const isCleared = await store.clear(tx, named, named, boundBefore)
      return { isCleared, isBound: await store.isBound(tx, device.appId, bound.deviceToken) }
    })
  }
  const cleared = { isCleared: true, isBound: false }
  const kept = { isCleared: false, isBound: true }

  it('end when they were bound before they were sent to, or before the gateway says', async () => {
    expect(await clear({}, boundAt + 1)).toEqual(cleared)
  })

  it('stay when they were bound at that time or later', async () => {
    expect(await clear({}, boundAt)).toEqual(kept)
    expect(await clear({}, boundAt - 1)).toEqual(kept)
  })

  it('stay when another one is meant', async () => {
    expect(await clear({ deviceToken: 'b' }, boundAt + 1)).toEqual(kept)
    expect(await clear({ notifierName: 'tablets' }, boundAt + 1)).toEqual(kept)
    expect(await clear({ deviceSn: 2 }, boundAt + 1)).toEqual(kept)
    expect(await clear({ userId: 8 }, boundAt + 1)).toEqual(kept)
    expect(await clear({ appId: 'other' }, boundAt + 1)).toEqual(kept)
  })
})
