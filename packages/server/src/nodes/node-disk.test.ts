import { describe, expect, it } from 'vitest'
import { type DiskFigures, NodeDisk } from './node-disk.js'

const space: DiskFigures = { free: 2, floor: 1 }
/** Lets a read of the disk end. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the disk of a node', () => {
  it('is reported as of the last heartbeat', async () => {
    const disk = new NodeDisk(async () => space)
    expect(disk.own()).toBeNull()
    await turn()
    expect(disk.own()).toEqual(space)
  })

  it('is not known after a failure', async () => {
    let isBroken = false
    const disk = new NodeDisk(async () => {
      if (isBroken) throw new Error('the disk is gone')
      return space
    })
    disk.own()
    await turn()
    isBroken = true
    disk.own()
    await turn()
    expect(disk.own()).toBeNull()
  })

  it('is not read again, and not known, while it does not answer', async () => {
    let reads = 0
    let answer = (_: DiskFigures) => {}
    const disk = new NodeDisk(() => {
      reads++
      return new Promise((resolve) => {
        answer = resolve
      })
    })
    disk.own()
    expect([disk.own(), disk.own(), reads]).toEqual([null, null, 1])
    answer(space)
    await turn()
    expect([disk.own(), reads]).toEqual([space, 2])
  })
})
