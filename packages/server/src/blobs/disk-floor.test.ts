import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { DiskFloor } from './disk-floor.js'

it('the floor of a disk rises with what the database is going to write', async () => {
  let walBytes = 0
  const floor = () => new DiskFloor(tmpdir(), 1, () => walBytes)
  expect(floor().space.floor).toBe(1)
  await floor().requireRoom()
  walBytes = floor().space.free + 2 ** 40
  expect(floor().space.floor).toBe(1 + walBytes)
  await expect(floor().requireRoom()).rejects.toMatchObject({ reason: 'full' })
})
